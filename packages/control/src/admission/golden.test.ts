// SPDX-License-Identifier: Apache-2.0
// Unusual Pods, and the result of injection for each: `NAME.in.yaml` becomes `NAME.out.yaml`, with the outcome and the
// messages. `UPDATE_GOLDEN=1 npx vitest run packages/control/src/admission/golden.test.ts` rewrites them; read the
// difference before you keep it.

import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { meshNames } from "@merlon/policy/mesh"
import { expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { injectTemplate } from "./inject-template.js"

const FOLDER = fileURLToPath(new URL("./golden/", import.meta.url))
const OPTIONS = {
  names: meshNames(),
  image: "merlon:1.2.3",
  capture: "redirect",
  nativeSidecar: true,
  controlPlane: { address: "merlond.merlon-system.svc:15012", serverName: "merlond.merlon-system.svc" },
} as const

const CASES = readdirSync(FOLDER).filter(name => name.endsWith(".in.yaml"))

it("covers at least twenty unusual Pods", () => {
  expect(CASES.length).toBeGreaterThan(20)
})

it.each(CASES)("%s", name => {
  const { outcome, because, warnings, object } = injectTemplate(parse(readFileSync(FOLDER + name, "utf8")), OPTIONS)
  const received = { outcome, ...(because === undefined ? {} : { because }), warnings }
  const text = stringify(
    { ...received, ...(outcome === "injected" ? { object } : {}) },
    { aliasDuplicateObjects: false },
  )
  const file = FOLDER + name.replace(".in.", ".out.")
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, text)
  expect(text).toBe(readFileSync(file, "utf8"))
})
