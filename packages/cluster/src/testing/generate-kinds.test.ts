// SPDX-License-Identifier: Apache-2.0
//
// The generated tables are what the generator makes of the Go modules they name; `KUBERNETES_MODULES` says where those
// are unpacked.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { generate } from "./generate-kinds.js"

const modules = process.env.KUBERNETES_MODULES

it.skipIf(modules === undefined)("regenerates the committed tables", () => {
  const made = generate(modules ?? "")
  for (const [name, text] of Object.entries(made))
    expect(readFileSync(join(import.meta.dirname, `../kinds/generated/${name}.ts`), "utf8")).toBe(text)
})
