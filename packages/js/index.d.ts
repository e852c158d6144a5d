export type VerdictName =
  | "duplicate"
  | "subsumes"
  | "update"
  | "contradiction"
  | "sibling"
  | "related"
  | "distinct"
  | "unsure";

export interface Verdict {
  verdict: VerdictName;
  /** The side that says more, of `subsumes`. */
  superset: "a" | "b" | null;
  /** The side that holds now, of `update`. */
  newer: "a" | "b" | null;
  /** 0 to 1. */
  similarity: number;
  /** Probability that both say the same, 0 to 1; null where words decide. */
  chance: number | null;
  /** What the two are to each other, as a clause of plain English. */
  reason: string;
}

/** An item behind another one; side a of its verdict is the one that stays. */
export interface FoldedItem<T> extends Verdict {
  item: T;
  place: number;
}

export interface Survivor<T> {
  item: T;
  place: number;
  folded: FoldedItem<T>[];
}

/** Two items that are not folded and are worth a look. */
export interface HeldPair<T> extends Verdict {
  a: T;
  b: T;
  places: [number, number];
}

export interface DistinctItems<T> {
  /** The items to keep, in the order given. */
  items: T[];
  survivors: Survivor<T>[];
  held: HeldPair<T>[];
  /** Places of items that were not compared and stay, by reason. */
  skipped: Record<string, number[]>;
  notes: string[];
  /** Pairs beyond the budget, of thousands of items on one topic. */
  unjudged: number;
}

export interface CallOptions {
  /** Key of the text of an item that is an object; `content` by default. */
  text?: string;
  /** `fast` by default; `none` compares words alone. */
  encoder?: string;
}

export interface ProcessOptions {
  /** How echoless is started; `["echoless"]` by default, else such as `["uvx", "echoless"]`. */
  command?: [string, ...string[]];
  env?: Record<string, string | undefined>;
  cwd?: string;
}

export declare class EcholessError extends Error {}

export declare class Echoless {
  constructor(options?: ProcessOptions);
  distinct<T>(items: Iterable<T>, options?: CallOptions): Promise<DistinctItems<T>>;
  judge(a: unknown, b: unknown, options?: CallOptions): Promise<Verdict>;
  close(): Promise<void>;
}

export declare function distinct<T>(
  items: Iterable<T>,
  options?: CallOptions,
): Promise<DistinctItems<T>>;
export declare function judge(a: unknown, b: unknown, options?: CallOptions): Promise<Verdict>;
export declare function close(): Promise<void>;
