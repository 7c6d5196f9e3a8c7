// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import {
  checkVersion,
  lockWithVersion,
  notesOf,
  releasedChangelog,
  withVersion,
} from "../../scripts/release/version.js"

describe("a new version", () => {
  it.each([
    ["0.1.0", "0.1.1"],
    ["0.1.9", "0.1.10"],
    ["1.0.0-rc.1", "1.0.0"],
    ["1.0.0-rc.2", "1.0.0-rc.10"],
    ["0.9.0", "1.0.0-rc.1"],
  ])("follows the previous one: %s, then %s", (before, next) => {
    expect(() => checkVersion(next, before)).not.toThrow()
    expect(() => checkVersion(before, next)).toThrow("does not come after")
  })

  it.each(["v1.0.0", "1.0", "1.0.0 ", ""])("has three numbers: rejects `%s`", text => {
    expect(() => checkVersion(text, "0.1.0")).toThrow("is no version")
  })

  it("is set in a manifest and its dependencies on our packages, and nowhere else", () => {
    const before = { name: "@merlon/x", version: "0.1.0", dependencies: { "@merlon/y": "0.1.0", yaml: "2.9.1" } }
    expect(JSON.parse(withVersion(JSON.stringify(before), "0.2.0"))).toEqual({
      name: "@merlon/x",
      version: "0.2.0",
      dependencies: { "@merlon/y": "0.2.0", yaml: "2.9.1" },
    })
  })

  it("is set in the lock file for our own packages only", () => {
    const lock = {
      version: "0.1.0",
      packages: {
        "": { version: "0.1.0" },
        "packages/x": { version: "0.1.0", dependencies: { "@merlon/y": "0.1.0" } },
        "node_modules/@merlon/x": { resolved: "packages/x", link: true },
        "node_modules/yaml": { version: "2.9.1" },
      },
    }
    const { version, packages } = JSON.parse(lockWithVersion(JSON.stringify(lock), "0.2.0"))
    expect([version, packages[""].version, packages["packages/x"].dependencies["@merlon/y"]]).toEqual(
      Array(3).fill("0.2.0"),
    )
    expect(packages["node_modules/yaml"].version).toBe("2.9.1")
    expect(packages["node_modules/@merlon/x"]).toEqual({ resolved: "packages/x", link: true })
  })
})

describe("the changelog", () => {
  const changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0 - 2026-01-01\n\n- old\n"

  it("moves the unreleased changes under the version", () => {
    const released = releasedChangelog(changelog, "0.2.0", "2026-02-03")
    expect(released).toContain("## Unreleased\n\n## 0.2.0 - 2026-02-03\n\n- new\n\n## 0.1.0")
    expect([notesOf(released, "0.2.0"), notesOf(released, "0.1.0"), notesOf(changelog, "0.2.0")]).toEqual([
      "- new",
      "- old",
      "- new",
    ])
  })

  it.each([
    ["# Changelog\n", "no section"],
    ["# Changelog\n\n## Unreleased\n\n## 0.1.0 - x\n\n- old\n", "nothing stands under"],
    ["# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 - x\n", "already"],
  ])("is rejected unless it has unreleased changes and no such version", (text, message) => {
    expect(() => releasedChangelog(text, "0.2.0", "2026-02-03")).toThrow(message)
  })
})
