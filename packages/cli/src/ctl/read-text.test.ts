// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { readText } from "./read-text.js"

const folder = mkdtempSync(join(tmpdir(), "merlon-text-"))
afterAll(() => rmSync(folder, { recursive: true }))

it.each(["latin1", "utf16le"] as const)(
  "rejects text in %s, which would be applied as something else",
  async encoding => {
    const file = join(folder, encoding)
    writeFileSync(
      file,
      Buffer.concat([Buffer.from(encoding === "utf16le" ? [0xff, 0xfe] : []), Buffer.from("/büro", encoding)]),
    )
    await expect(readText(file)).rejects.toThrow(`\`${file}\` is not in UTF-8; save it as UTF-8`)
  },
)

it("reads UTF-8", async () => {
  const file = join(folder, "utf8")
  writeFileSync(file, "/büro")
  expect(await readText(file)).toBe("/büro")
})
