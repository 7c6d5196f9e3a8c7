// SPDX-License-Identifier: Apache-2.0
// The generated tables as data, read on first use and cached. Most processes never need the documentation of fields,
// which is two thirds of all bytes. Our bundled programs embed the tables with a loader of their own.

import { readFileSync } from "node:fs"
import { once } from "../lazy.js"

const folder = new URL("../../generated/", import.meta.url)

/** What a table holds is stated by who reads it, and held by generated-tables.test.ts. */
export function table<T extends object>(name: string): () => T {
  return once(() => JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) as T)
}
