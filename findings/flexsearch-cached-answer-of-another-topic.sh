#!/usr/bin/env bash
# Package: flexsearch 0.8.212 (full-text search in memory, for JavaScript).
# Question: the cached search is asked for "tea" in one topic, then in another. What comes?
# One would guess: the memories of each, for another topic is another question.
# What happens: the second topic gets the memories of the first.
# The key of the cache holds the words, the limit and the offset, but not the tag.
# So a search in all topics gets one topic too, if that was asked before.
# The uncached search, and a cache that is asked in one topic only, answer rightly.
# Why it matters: memories of the right topic are hidden, and those of another are shown.
# Which answer comes depends on what was asked first.
# Seen:
#   search:      home=h1 work=w1,w2 all=h1,w1,w2
#   searchCache: home=h1 work=h1 all=h1
#   searchCache: all=h1,w1,w2 work=h1,w1,w2 home=h1,w1,w2
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts flexsearch@0.8.212

cat >look.mjs <<'JAVASCRIPT'
import flexsearch from "flexsearch";

function memories() {
  const made = new flexsearch.Document({
    cache: 100,
    document: { id: "id", index: ["text"], tag: ["topic"] },
  });
  made.add({ id: "h1", text: "tea at home", topic: "home" });
  made.add({ id: "w1", text: "tea at work", topic: "work" });
  made.add({ id: "w2", text: "tea with the team", topic: "work" });
  return made;
}

function ask(way, topics) {
  const store = memories();
  const answers = topics.map((topic) => {
    const question = topic === "all" ? { query: "tea" } : { query: "tea", tag: { topic } };
    const ids = store[way](question).flatMap((field) => field.result);
    return `${topic}=${ids.sort().join(",")}`;
  });
  console.log(`${way}:`.padEnd(12), answers.join(" "));
  return answers.join(" ");
}

const plain = ask("search", ["home", "work", "all"]);
const homeFirst = ask("searchCache", ["home", "work", "all"]);
const allFirst = ask("searchCache", ["all", "work", "home"]);

if (plain !== "home=h1 work=w1,w2 all=h1,w1,w2") {
  throw new Error("DIFFERENT: the plain search does not keep topics apart.");
}
if (homeFirst !== "home=h1 work=h1 all=h1") {
  throw new Error("DIFFERENT: the cached search looks at the topic.");
}
if (allFirst !== "all=h1,w1,w2 work=h1,w1,w2 home=h1,w1,w2") {
  throw new Error("DIFFERENT: the cached search looks at the topic after a search in all.");
}
JAVASCRIPT
node look.mjs
