// SPDX-License-Identifier: Apache-2.0
// What a program loads: only the parts of our packages that it uses, and rarely needed parts on demand.

import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const BUNDLE = "packages/cli/bundle"

describe("a program", () => {
  /** The sources that are loaded before the command starts, according to the source maps of the bundle. */
  function loadedBy(command: string): readonly string[] {
    const all = readdirSync(BUNDLE)
    const seen = new Set<string>()
    const walk = (name: string): void => {
      if (seen.has(name)) return
      seen.add(name)
      const text = readFileSync(join(BUNDLE, name), "utf8")
      for (const [, next = ""] of text.matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g)) walk(next)
    }
    walk(all.find(name => new RegExp(`^${command}-[A-Z0-9]+\\.js$`).test(name)) ?? `${command}.js`)
    return [...seen].flatMap(name => JSON.parse(readFileSync(join(BUNDLE, `${name}.map`), "utf8")).sources as string[])
  }

  it.each([
    ["a command that lists", "get"],
    ["a command that applies", "apply"],
    ["a command that shows versions", "version"],
    ["a command that runs a program in the mesh", "run"],
    ["a proxy", "xserver"],
  ])("%s loads no code of a control plane or of proofs", (_, command) => {
    const files = loadedBy(command)
    expect(files.filter(file => /policy\/src\//.test(file))).not.toEqual([])
    expect(
      files.filter(file => /control\/src\/(serve|answers|status|distribution)|policy\/src\/proof/.test(file)),
    ).toEqual([])
  })

  it("contains only the parts of its dependencies that it uses", () => {
    const files = loadedBy("xserver").filter(file => file.includes("node_modules/"))
    expect(files.filter(file => /prom-client\/lib\/counter/.test(file))).toHaveLength(1)
    expect(files.filter(file => /opentelemetry|prom-client\/lib\/(metrics|pushgateway|summary)/.test(file))).toEqual([])
    expect(files.filter(file => /typebox\/build\/type\/extends\//.test(file))).toEqual([])
  })

  it("is a single file if it is a proxy", () => {
    const files = readdirSync(BUNDLE)
    const apart = files.filter(name => /^xserver.*\.js$/.test(name))
    expect(apart).toEqual(["xserver.js"])
    const joined = readFileSync(join(BUNDLE, "xserver.js"), "utf8").matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g)
    expect([...joined].length).toBeLessThan(12)
  })

  it("reads expressions of a MeshService, although it loads RE2 on demand", () => {
    const analyzed = (regex: string): string => {
      const head = "apiVersion: networking.merlon.dev/v1\nkind: MeshService\nmetadata: { name: a, namespace: b }"
      const rule = `{ match: [{ uri: { regex: "${regex}" } }], route: [{ service: [{ host: a.b }] }] }`
      const input = `${head}\nspec: { hosts: [a.b], rules: [${rule}] }\n`
      const args = ["packages/cli/bin/merlonctl.js", "analyze", "-f", "-"]
      return spawnSync(process.execPath, args, { input, encoding: "utf8" }).stderr
    }
    expect(analyzed("(")).toContain("missing closing )")
    expect(analyzed("a+")).not.toContain("regex")
  })

  it("measures wide characters with the table that it loads on demand", () => {
    const text = 'spec: { note: "広い", actoin: ALLOW }'
    const input = `apiVersion: security.merlon.dev/v1\nkind: AuthorizationPolicy\nmetadata: { name: a, namespace: b }\n${text}\n`
    const { stderr } = spawnSync(process.execPath, ["packages/cli/bin/merlonctl.js", "analyze", "-f", "-"], {
      ...{ input, encoding: "utf8" },
    })
    const lines = stderr.split("\n")
    const at = lines.findLastIndex(line => line.includes(text))
    expect(lines.slice(at, at + 2)).toEqual([`  4 | ${text}`, `    | ${" ".repeat('spec: { note: "...." '.length)} ^`])
  })
})
