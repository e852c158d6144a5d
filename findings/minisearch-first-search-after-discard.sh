#!/usr/bin/env bash
# Package: minisearch 7.2.0 (full-text search in memory, for JavaScript).
# Question: four equal memories, one is discarded. How do the other three score?
# One would guess: alike, and as in an index made without the fourth.
# What happens: in the first search that meets the discarded one, they do not.
# The one added before it scores less than a third of the two added after it.
# It comes last, and with a threshold of 0.3 it is not there at all.
# The second search, with the same words, scores all three alike.
# So the same question gives two answers, and only the first was wrong.
# Why it matters: a copy is discarded to tidy up, and the memory kept drops out of sight.
# Who checks it once more sees nothing wrong.
# Seen:
#   first search:  before=0.151 after=0.510 last=0.510
#   second search: before=0.510 after=0.510 last=0.510
#   fresh index:   before=0.510 after=0.510 last=0.510
#   above 0.3 in the first search: after, last
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts minisearch@7.2.0

cat >look.mjs <<'JAVASCRIPT'
import MiniSearch from "minisearch";

const memories = ["before", "gone", "after", "last"].map((id) => ({ id, text: "tea at four" }));
memories.push({ id: "other", text: "milk" });

function index(documents) {
  const made = new MiniSearch({ fields: ["text"], autoVacuum: false });
  made.addAll(documents);
  return made;
}

function scores(made) {
  return Object.fromEntries(made.search("tea").map((hit) => [hit.id, hit.score]));
}

function line(found) {
  return ["before", "after", "last"].map((id) => `${id}=${found[id].toFixed(3)}`).join(" ");
}

const tidied = index(memories);
tidied.discard("gone");
const first = scores(tidied);
const second = scores(tidied);
const fresh = scores(index(memories.filter((memory) => memory.id !== "gone")));
const above = ["before", "after", "last"].filter((id) => first[id] > 0.3);
console.log("first search: ", line(first));
console.log("second search:", line(second));
console.log("fresh index:  ", line(fresh));
console.log("above 0.3 in the first search:", above.join(", "));

const same = (a, b) => Math.abs(a - b) < 1e-9;
if (!same(second.before, second.after) || !same(second.before, fresh.before)) {
  throw new Error("DIFFERENT: the second search does not score as a fresh index.");
}
if (!same(first.after, fresh.after) || !(first.before < first.after / 2)) {
  throw new Error("DIFFERENT: the first search scores the equal memories alike.");
}
JAVASCRIPT
node look.mjs
