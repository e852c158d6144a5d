// `node --test`; ECHOLESS_COMMAND is a JSON list, `["echoless"]` by default.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Echoless, EcholessError } from "../index.js";

const command = JSON.parse(process.env.ECHOLESS_COMMAND ?? '["echoless"]');
const echoless = new Echoless({ command });
const PORT = "The staging database listens on port 5432.";
const OTHER = "The staging database listens on port 5433.";

/** A program in place of echoless, from the text of a script. */
const standIn = (script) => new Echoless({ command: [process.execPath, "-e", script, "--"] });

after(() => echoless.close());

test("a list in, a list out, with the caller's own objects", async () => {
  const items = [{ content: PORT, own: new Map() }, { content: `**${PORT}**` }, { content: OTHER }];
  const found = await echoless.distinct(items, { encoder: "none" });
  assert.equal(found.items.length, 2);
  assert.equal(found.items[0], items[0]);
  assert.equal(found.survivors[0].folded[0].item, items[1]);
  assert.equal(found.survivors[0].folded[0].reason, "the same text but for its spelling");
  assert.deepEqual(found.held.at(-1).b, items[2]);
  assert.equal(found.held.at(-1).verdict, "contradiction");
});

test("two texts are judged, with a reason", async () => {
  const verdict = await echoless.judge("The team uses Postgres 14.", "The team now uses Postgres 16.");
  assert.equal(verdict.verdict, "update");
  assert.equal(verdict.newer, "b");
  assert.equal(verdict.reason, "was 14, now 16");
});

test("a hundred calls at once each get their own answer", async () => {
  const calls = Array.from({ length: 100 }, (_, n) =>
    echoless.distinct([`Note ${n}.`, `Note ${n}.`, `Note ${n + 1}.`], { encoder: "none" }),
  );
  for (const [n, found] of (await Promise.all(calls)).entries()) {
    assert.deepEqual(found.items, [`Note ${n}.`, `Note ${n + 1}.`]);
  }
});

test("an item without a text is refused by its place, and the next call is answered", async () => {
  await assert.rejects(echoless.distinct(["A note.", null]), (problem) => {
    assert.ok(problem instanceof EcholessError);
    assert.match(problem.message, /^items\[1\] is a NoneType/);
    return true;
  });
  await assert.rejects(echoless.distinct("A note."), /'items' is no list/);
  assert.deepEqual((await echoless.distinct(["A note."])).items, ["A note."]);
});

test("who waits for a process that dies is told in a sentence; the next call starts another", async () => {
  const dying = standIn(`
    process.stdin.once("data", (line) => {
      const { id, items } = JSON.parse(line);
      if (items[0] === "die") { console.error("Out of luck."); process.exit(3); }
      console.log(JSON.stringify({ id, keep: [{ place: 0, folded: [] }], held: [] }));
    });`);
  await assert.rejects(
    dying.distinct(["die"]),
    new EcholessError("The process of echoless ended (3): Out of luck."),
  );
  assert.deepEqual((await dying.distinct(["live"])).items, ["live"]);
  await dying.close();
});

test("a program that is not there, or is no echoless, is named", async () => {
  const missing = new Echoless({ command: ["no-such-program"] });
  await assert.rejects(missing.judge("a", "b"), /There is no program no-such-program/);
  const other = standIn(`console.log("hello"); process.stdin.resume();`);
  await assert.rejects(other.judge("a", "b"), /The process of echoless ended \(SIGTERM\)/);
});

test("closing waits for answers, ends the process, and may be done twice", async () => {
  const own = new Echoless({ command });
  const call = own.distinct([PORT, PORT], { encoder: "none" });
  await own.close();
  assert.equal((await call).items.length, 1);
  await own.close();
  assert.equal((await own.distinct([PORT], { encoder: "none" })).items.length, 1);
  await own.close();
});

test("a program that forgets to close ends all the same", async () => {
  const module = fileURLToPath(new URL("../index.js", import.meta.url));
  const script = `
    import { Echoless } from ${JSON.stringify(module)};
    const own = new Echoless({ command: ${JSON.stringify(command)} });
    console.log((await own.distinct(["A.", "A."], { encoder: "none" })).items.length);`;
  const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal((await run).stdout, "1\n");
});
