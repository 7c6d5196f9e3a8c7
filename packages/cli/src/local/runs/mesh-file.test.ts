// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { meshFileOf } from "./mesh-file.js"

const read = (text: string) => meshFileOf(text, "/home/me", "/usr/bin")

it("reads programs, their settings, and the documents to apply", () => {
  const { samples, runs, apply } = read(`
samples: true
apply: [policies]
workloads:
  - { name: shop, namespace: demo, port: 8080, command: [node, server.js], folder: shop, replicas: 2, expose: 9000,
      env: { LEVEL: debug }, probe: { http: /up } }
  - { name: db, port: 5432, protocol: tcp, command: [postgres], listensOn: 127.0.0.1, probe: { command: [pg_isready] } }
`)
  expect([samples, apply]).toEqual([true, ["/home/me/policies"]])
  expect(runs).toMatchObject([
    {
      name: "shop",
      cwd: "/home/me/shop",
      replicas: 2,
      wayIn: 9000,
      servicePort: 8080,
      env: { PATH: "/usr/bin", LEVEL: "debug" },
      probe: { kind: "http", path: "/up" },
    },
    { name: "db", namespace: "default", protocol: "tcp", listensOn: "127.0.0.1", probe: { command: ["pg_isready"] } },
  ])
})

it("reads `wayIn`, the former name of `expose`", () => {
  expect(read("workloads: [{ name: a, port: 1, command: [b], wayIn: 9000 }]").runs).toMatchObject([{ wayIn: 9000 }])
})

it("may be empty", () => {
  expect(read("")).toEqual({ samples: false, runs: [], apply: [] })
})

describe("rejects", () => {
  it.each([
    ["a word where true or false stands", "samples: yes", /samples: must be true or false/],
    ["a field nobody knows", "workload: []", /workload: unknown field; did you mean `workloads`/],
    [
      "a workload without a port",
      "workloads: [{ name: a, command: [x] }]",
      /workloads\[0\].port: must be a whole number/,
    ],
    [
      "a workload without a program",
      "workloads: [{ name: a, port: 1 }]",
      /workloads\[0\].command: must name a program/,
    ],
    ["a name that is none", "workloads: [{ name: A, port: 1, command: [x] }]", /`A` cannot be a name/],
    ["a misspelt field", "workloads: [{ name: a, port: 1, command: [x], replica: 2 }]", /did you mean `replicas`/],
    [
      "two of one name",
      "workloads: [{ name: a, port: 1, command: [x] }, { name: a, port: 2, command: [x] }]",
      /`a` is there twice/,
    ],
    [
      "two ways to ask",
      "workloads: [{ name: a, port: 1, command: [x], probe: { http: /, command: [x] } }]",
      /by `http` or by `command`, not by both/,
    ],
  ])("%s", (_, text, message) => {
    expect(() => read(text)).toThrow(message)
  })
})
