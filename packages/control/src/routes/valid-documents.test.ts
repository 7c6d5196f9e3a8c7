// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { MemoryDocuments } from "./testing/memory-directory.js"
import { MESH } from "./testing/mesh.js"
import { ValidDocuments } from "./valid-documents.js"

interface Stored extends KubernetesObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
}

const stored = (hosts: unknown, uid = "1", more: object = {}): Stored => ({
  apiVersion: "networking.merlon.dev/v1alpha3",
  kind: "MeshService",
  metadata: { name: "web", namespace: "app", uid },
  spec: { hosts },
  ...more,
})

function documents() {
  const source = new MemoryDocuments<Stored>()
  const refused: string[] = []
  const valid = new ValidDocuments("MeshService", source, MESH.names, key => refused.push(key))
  const told: (readonly string[] | undefined)[] = []
  valid.onChange(({ object }) => told.push(object?.spec.hosts))
  return { source, valid, told, refused }
}

it("has what validates, and tells of it", () => {
  const { source, valid, told } = documents()
  source.set(stored(["web"]))
  expect(valid.items.get("app/web")?.spec.hosts).toEqual(["web"])
  source.remove("app/web")
  expect(valid.items.size).toBe(0)
  expect(told).toEqual([["web"], undefined])
})

it("keeps the last good version of a document that cannot be read any more", () => {
  const { source, valid, told, refused } = documents()
  source.set(stored(["web"]))
  source.set(stored("web"))
  expect(valid.items.get("app/web")?.spec.hosts).toEqual(["web"])
  expect(told).toEqual([["web"]])
  expect(refused).toEqual(["app/web"])
})

it("forgets it where the unreadable one is another document of the same name", () => {
  const { source, valid, told } = documents()
  source.set(stored(["web"]))
  source.set(stored("web", "2"))
  expect(valid.items.size).toBe(0)
  expect(told).toEqual([["web"], undefined])
})

it("never had one that never could be read", () => {
  const { source, valid, told } = documents()
  source.set(stored([]))
  source.remove("app/web")
  expect(valid.items.size).toBe(0)
  expect(told).toEqual([])
})

it("tells nothing of a status", () => {
  const { source, told } = documents()
  source.set(stored(["web"]))
  source.set(stored(["web"], "1", { status: { conditions: [] } }))
  expect(told).toHaveLength(1)
})

it("has what was there before it", () => {
  const source = new MemoryDocuments<Stored>()
  source.set(stored(["web"]))
  expect(new ValidDocuments("MeshService", source, MESH.names).items.size).toBe(1)
})
