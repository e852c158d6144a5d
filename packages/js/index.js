// Two calls of echoless for JavaScript: one process of `echoless judge --serve` answers them.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const TIMES = ["created_at", "createdAt", "timestamp", "ts", "updated_at", "updatedAt"];
const LAST = 2000; // characters of the standard error that are remembered for a message

/** What echoless refused, or why it could not answer; one sentence. */
export class EcholessError extends Error {
  name = "EcholessError";
}

/** One process of echoless. It starts with the first call, and anew after it died. */
export class Echoless {
  #command;
  #options;
  #process = null;
  #number = 0;

  /** @param {import("./index.d.ts").ProcessOptions} [options] */
  constructor({ command = ["echoless"], env = process.env, cwd } = {}) {
    this.#command = command;
    this.#options = { env, cwd, stdio: "pipe", windowsHide: true };
  }

  async distinct(items, { text = "content", encoder } = {}) {
    const listed = typeof items === "string" ? items : [...items];
    const sent = typeof items === "string" ? items : listed.map((item) => plain(item, text));
    const answer = await this.#ask({ call: "distinct", items: sent, text, encoder });
    const named = ({ place, ...rest }) => ({ item: listed[place], place, ...rest });
    const survivors = answer.keep.map(({ place, folded }) => ({
      item: listed[place],
      place,
      folded: folded.map(named),
    }));
    return {
      items: survivors.map(({ item }) => item),
      survivors,
      held: answer.held.map(({ a, b, ...rest }) => ({
        a: listed[a],
        b: listed[b],
        places: [a, b],
        ...rest,
      })),
      skipped: answer.skipped,
      notes: answer.notes,
      unjudged: answer.unjudged,
    };
  }

  async judge(a, b, { text = "content", encoder } = {}) {
    return this.#ask({ call: "judge", a: plain(a, text), b: plain(b, text), text, encoder });
  }

  /** Ends the process after the answers that are still to come; a later call starts another. */
  async close() {
    const running = this.#process;
    if (running === null) return;
    this.#process = null;
    running.closing = true;
    refer(running, true);
    running.child.stdin.end();
    await running.ended;
  }

  #ask(request) {
    const id = ++this.#number;
    const line = `${JSON.stringify({ id, ...request })}\n`;
    const running = (this.#process ??= this.#start());
    return new Promise((resolve, reject) => {
      running.waiting.set(id, { resolve, reject });
      refer(running, true);
      running.child.stdin.write(line);
    });
  }

  #start() {
    const [program, ...given] = this.#command;
    const child = spawn(program, [...given, "judge", "--serve"], this.#options);
    const running = { child, waiting: new Map(), closing: false };
    let said = "";
    running.ended = new Promise((resolve) => {
      const end = (why) => {
        if (this.#process === running) this.#process = null;
        for (const { reject } of running.waiting.values()) reject(new EcholessError(why));
        running.waiting.clear();
        resolve();
      };
      child.on("error", (problem) =>
        end(
          problem.code === "ENOENT"
            ? `There is no program ${program}: pip install echoless, or name it with command.`
            : `${program} could not be started: ${problem.message}.`,
        ),
      );
      child.on("close", (code, signal) => {
        const last = said.trim().split("\n").at(-1);
        end(`The process of echoless ended (${signal ?? code})${last ? `: ${last}` : "."}`);
      });
    });
    child.stdin.on("error", () => {}); // the process died; `close` says so
    child.stderr.on("data", (data) => {
      said = (said + data).slice(-LAST);
    });
    createInterface({ input: child.stdout }).on("line", (line) => answered(running, line));
    return running;
  }
}

function answered(running, line) {
  let answer;
  try {
    answer = JSON.parse(line);
  } catch {
    running.child.kill(); // it is no echoless; those who wait are told
    return;
  }
  const { id, error, ...rest } = answer;
  const call = running.waiting.get(id);
  running.waiting.delete(id);
  if (running.waiting.size === 0 && !running.closing) refer(running, false);
  if (error === undefined) call?.resolve(rest);
  else call?.reject(new EcholessError(error));
}

/** While nobody waits for an answer, the process keeps no program from ending. */
function refer({ child }, wanted) {
  for (const each of [child, child.stdin, child.stdout, child.stderr]) {
    if (wanted) each.ref?.();
    else each.unref?.();
  }
}

/** What echoless reads of an item: its text, and when it was written. */
function plain(item, text) {
  if (typeof item !== "object" || item === null) return item;
  return Object.fromEntries(
    [text, ...TIMES].filter((key) => key in item).map((key) => [key, item[key]]),
  );
}

const shared = new Echoless();

/** Returns which items to keep, and what is folded behind each. */
export const distinct = (items, options) => shared.distinct(items, options);

/** Returns what two texts are to each other. */
export const judge = (a, b, options) => shared.judge(a, b, options);

/** Ends the process behind `distinct` and `judge`. */
export const close = () => shared.close();
