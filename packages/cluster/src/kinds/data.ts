// SPDX-License-Identifier: Apache-2.0
// The generated tables as data, read on first use and cached. Most processes never need the documentation of fields,
// which is two thirds of the bytes. Our bundled programs embed the tables with their own loader.

import { readFileSync } from "node:fs"
import { once } from "../lazy.js"

const folder = new URL("../../generated/", import.meta.url)

/** The caller states the type of a table; generated-tables.test.ts checks it. */
export function table<T extends object>(name: string): () => T {
  return once(() => JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) as T)
}
