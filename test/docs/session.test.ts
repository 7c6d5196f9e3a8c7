// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { SESSION_PICTURE, sessionPicture } from "../../scripts/generate/session-picture.js"
import { readText } from "../architecture/tree.js"

it("the picture of a session matches the README (`npm run generate`)", () => {
  expect(readText(SESSION_PICTURE)).toBe(sessionPicture(readText("README.md")))
})

it('shows every command of "Five minutes" that prints something, with its output', () => {
  const picture = sessionPicture(
    "# x\n\n## Five minutes\n\n```sh\na <b\nc\n```\n\n```text\n403\n```\n\n```sh\nsilent\n```\n\n## Next\n",
  )
  expect(picture).toContain('<tspan class="prompt">$</tspan> a &lt;b</text>')
  expect(picture).toContain('<tspan class="prompt">$</tspan> c</text>')
  expect(picture).toMatch(/class="said bad"[^>]*>403</)
  expect(picture).not.toContain("silent")
})
