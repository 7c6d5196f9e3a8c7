// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { localKubeconfig, namedKubeconfig } from "./local-kubeconfig.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlonctl-"))
  mkdirSync(join(folder, "a", "b"), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true }))

function put(below: string): string {
  mkdirSync(join(folder, below, ".merlon"), { recursive: true })
  const file = join(folder, below, ".merlon", "kubeconfig")
  writeFileSync(file, "")
  return file
}

it("finds the nearest ancestor", () => {
  const top = put("")
  expect(localKubeconfig(join(folder, "a", "b"))).toBe(top)
  const near = put("a")
  expect(localKubeconfig(join(folder, "a", "b"))).toBe(near)
})

it("finds none, and does not take a folder for a file", () => {
  mkdirSync(join(folder, ".merlon", "kubeconfig"), { recursive: true })
  expect(localKubeconfig(folder)).toBeUndefined()
})

it("ignores the file of another user, which could make us run a program", () => {
  put("")
  expect(localKubeconfig(folder, 4_242)).toBeUndefined()
})

it("is that of the named data folder, whether it exists or not", () => {
  expect(namedKubeconfig("/some/mesh")).toBe("/some/mesh/kubeconfig")
  expect([namedKubeconfig(undefined), namedKubeconfig("")]).toEqual([undefined, undefined])
})
