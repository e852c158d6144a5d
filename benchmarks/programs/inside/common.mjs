// What the programs' files share: records, and vectors without a model.
export const DIMENSIONS = 64;

export const record = (id, text, { created = null, updated = null, vector = null, ...rest } = {}) => ({
  id: String(id),
  text,
  created: created === null ? null : String(created),
  updated: updated === null ? null : String(updated),
  vector,
  rest: JSON.parse(JSON.stringify(rest)),
});

// A count of words of length 1: texts of the same words have the same vector.
export const vector = (text) => {
  const counts = new Array(DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) {
    let place = 7;
    for (const letter of word) place = (place * 31 + letter.charCodeAt(0)) % 1000003;
    counts[place % DIMENSIONS] += 1;
  }
  const length = Math.sqrt(counts.reduce((sum, number) => sum + number * number, 0)) || 1;
  return counts.map((number) => number / length);
};
