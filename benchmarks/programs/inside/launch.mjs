// Run steps of one program: `node launch.mjs NAME JOB ANSWER`.
import { readFileSync, writeFileSync } from "node:fs";

const [name, job, answer] = process.argv.slice(2);
const asked = JSON.parse(readFileSync(job, "utf8"));
const program = await import(`./${name}.mjs`);
process.chdir(asked.folder);
const answers = [];
for (const [step, ...given] of asked.steps) {
  if (!(step in program)) {
    answers.push({ missing: step });
    continue;
  }
  const notes = step === "write" ? [given[0].map(([text, owner]) => ({ text, owner }))] : given;
  try {
    answers.push({ value: (await program[step](asked.folder, ...notes)) ?? null });
  } catch (error) {
    console.error(error);
    answers.push({ error: String(error).slice(0, 400) });
  }
}
writeFileSync(answer, JSON.stringify(answers));
process.exit(0);
