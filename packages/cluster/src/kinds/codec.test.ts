// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { encodeProtobuf } from "../http/protobuf-answer.js"
import { decodeMessage, openEnvelope } from "../wire/protobuf.js"
import { DecodeError, decode } from "./codec.js"
import { applyTypeDefaults } from "./defaults.js"
import { builtinResources } from "./resource-table.js"
import { typeNamed } from "./type-table.js"

const pod = typeNamed("io.k8s.api.core.v1.Pod")
const sample = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "p", labels: { a: "b" }, creationTimestamp: "2026-01-02T03:04:05Z" },
  spec: {
    containers: [
      {
        name: "app",
        image: "x",
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: "0.5" } },
        livenessProbe: { httpGet: { port: "http" } },
      },
    ],
    volumes: [{ name: "v" }],
  },
}

describe("decode", () => {
  it("orders fields as Go does and omits empty ones", () => {
    const out = decode(typeNamed("io.k8s.api.core.v1.ConfigMap"), {
      data: {},
      immutable: false,
      metadata: { name: "a" },
      kind: "ConfigMap",
    })
    expect(JSON.stringify(out)).toBe('{"kind":"ConfigMap","metadata":{"name":"a"},"immutable":false}')
  })

  it("changes nothing the second time, for every kind", () => {
    for (const { type, kind } of builtinResources) {
      const once = decode(type, { metadata: { name: kind.toLowerCase(), labels: { a: "b" } } })
      applyTypeDefaults(type, once)
      const twice = decode(type, once)
      expect(decode(type, twice)).toEqual(twice)
    }
  })

  it("reports unknown fields in document order", () => {
    const unknown: string[] = []
    decode(pod, { metadata: { wrong: 1 }, spec: { containers: [{ imge: "x" }] }, extra: true }, { unknown })
    expect(unknown).toEqual(["metadata.wrong", "spec.containers[0].imge", "extra"])
  })

  it.each<[object, string]>([
    [
      { spec: { containers: "x" } },
      "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
    ],
    [
      { metadata: { labels: { a: 5 } } },
      "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
    ],
    [
      { spec: { priority: 5000000000 } },
      "json: cannot unmarshal number 5000000000 into Go struct field PodSpec.spec.priority of type int32",
    ],
  ])("rejects %j with Go's message", (value, message) => {
    expect(() => decode(pod, value as never)).toThrow(new DecodeError(message))
  })
})

describe("protobuf", () => {
  it("encodes and decodes an object without loss", () => {
    const object = decode(pod, sample)
    applyTypeDefaults(pod, object)
    const whole = { kind: "Pod", apiVersion: "v1", ...decode(pod, object) }
    const envelope = openEnvelope(encodeProtobuf(whole))
    expect(envelope).toMatchObject({ kind: "Pod", apiVersion: "v1" })
    expect({ ...decode(pod, decodeMessage(pod, envelope.raw)), kind: "Pod", apiVersion: "v1" }).toEqual(whole)
  })
})
