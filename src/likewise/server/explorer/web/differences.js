// Words that texts share or do not share, and how they are marked.

import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+(?:['’.-][\p{L}\p{N}]+)*/gu;
const MIN_LENGTH = 3;
const COMMON = new Set(
  ("about after all also and any are because been before being between both but can could did does for from had has " +
    "have her here him his how into its just like may more most much must nor not now off one only other our out over " +
    "own per she should some such than that the their them then there these they this those through too under until " +
    "upon use used very was way were what when where which while who whom whose why will with would you your").split(" "),
);

/** Return the distinct words of a text without the most common ones. */
export function wordsOf(text) {
  const found = (text ?? "").match(WORD) ?? [];
  const stem = (word) => word.split(/['’]/)[0];
  const telling = (word) => stem(word).length >= MIN_LENGTH && !COMMON.has(stem(word));
  return new Set(found.map(plain).filter(telling));
}

/** Return all distinct words of a text. */
export function wordSet(text) {
  return new Set(((text ?? "").match(WORD) ?? []).map(plain));
}

/** Return the text as nodes in which the words that `isMarked` tells are marked. */
export function marked(text, isMarked, style = "") {
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(WORD)) {
    if (!isMarked(plain(found[0]))) continue;
    nodes.push(text.slice(end, found.index), h("mark", { class: style || null }, found[0]));
    end = found.index + found[0].length;
  }
  return [...nodes, text.slice(end)];
}

/** Return functions that tell the words by which two texts differ in what they share with a third. */
export function shares(query, left, right) {
  const [asked, first, second] = [query, left, right].map(wordsOf);
  return {
    query: (word) => asked.has(word) && first.has(word) !== second.has(word),
    left: (word) => first.has(word) && asked.has(word) && !second.has(word),
    right: (word) => second.has(word) && asked.has(word) && !first.has(word),
  };
}

/**
 * Return functions that tell the words by which two texts differ; if these are most of the words,
 * `common` is true, and they tell the words that both have.
 */
export function differences(left, right) {
  const [first, second] = [wordSet(left), wordSet(right)];
  const both = [...first].filter((word) => second.has(word));
  if (2 * both.length >= Math.min(first.size, second.size)) {
    return { common: false, left: (word) => !second.has(word), right: (word) => !first.has(word) };
  }
  const telling = wordsOf(both.join(" "));
  const isCommon = (word) => telling.has(word);
  return { common: true, left: isCommon, right: isCommon };
}

function plain(word) {
  return word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
