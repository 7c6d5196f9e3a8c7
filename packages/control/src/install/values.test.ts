// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { assignment, assignments, defaultValues, readValues } from "./values.js"

describe("the values of an installation", () => {
  const read = (...given: unknown[]) => readValues("1.2.3", ...given)

  it("are all set by default, with the version's own image", () => {
    expect(read()).toEqual(defaultValues("1.2.3"))
    expect(read().image).toBe("merlon:1.2.3")
  })

  it("are merged, and the last one wins", () => {
    const values = read({ replicas: 3, podDisruptionBudget: { enabled: false } }, assignment("replicas=5", parse))
    expect(values).toMatchObject({ replicas: 5, podDisruptionBudget: { enabled: false, minAvailable: 1 } })
  })

  it.each<[string, unknown, string]>([
    ["an unknown name", { replica: 3 }, "there is no value `replica`; did you mean `replicas`?"],
    ["an unknown nested name", { networkPolicy: { enable: true } }, "did you mean `networkPolicy.enabled`?"],
    ["a string for a number", { replicas: "three" }, 'the value `replicas` must be an integer; it is `"three"`'],
    ["zero replicas", { replicas: 0 }, "must be at least 1"],
    ["a word that is not a choice", { capture: "magic" }, "must be one of redirect, service"],
    ["an image without a version", { image: "registry:5000/merlon" }, "the value `image` must match"],
    ["a scalar for a mapping", { dashboards: true }, "the value `dashboards` must be a mapping"],
    ["a list instead of a mapping", [1], "values must be a mapping"],
  ])("reject %s", (_, given, message) => {
    expect(() => read(given)).toThrow(message)
  })

  it("merge maps and remove what is null, as Helm does", () => {
    const given = { resources: { limits: { cpu: "1" }, requests: { cpu: null } }, dashboards: { labels: { a: "b" } } }
    const { resources, dashboards } = read(given)
    expect(resources).toEqual({ requests: { memory: "192Mi" }, limits: { memory: "1Gi", cpu: "1" } })
    expect(dashboards.labels).toEqual({ grafana_dashboard: "1", a: "b" })
    expect(read({ resources: {} }).resources).toEqual(read({}).resources)
  })

  it.each<[string, readonly unknown[]]>([
    ["replicas=3", [{ replicas: 3 }]],
    ["replicas=3,logLevel=debug", [{ replicas: 3 }, { logLevel: "debug" }]],
    ["dashboards.labels.a=1\\,2,replicas=3", [{ dashboards: { labels: { a: "1,2" } } }, { replicas: 3 }]],
    ["list={a,b},replicas=3", [{ list: ["a", "b"] }, { replicas: 3 }]],
    ["list=[a, b],replicas=3", [{ list: ["a", "b"] }, { replicas: 3 }]],
    ["resources={limits: {cpu: 1, memory: 2Gi}}", [{ resources: { limits: { cpu: 1, memory: "2Gi" } } }]],
    ["resources={}", [{ resources: {} }]],
    ["clusterDomain=", [{ clusterDomain: "" }]],
  ])("are assigned by `%s`, as in Helm", (text, trees) => {
    expect(assignments(text, parse)).toEqual(trees)
  })

  it.each(["replicas=3,", "replicas=3,logLevel", ",replicas=3"])("reject `%s`", text => {
    expect(() => assignments(text, parse)).toThrow("must have the form PATH=VALUE")
  })

  it("reject an assignment without a value", () => {
    expect(() => assignment("replicas", parse)).toThrow("`replicas` must have the form PATH=VALUE")
  })

  it.each(["merlon:1", "registry:5000/a/merlon:1.2.3", "merlon@sha256:abc"])("accept the image %s", image => {
    expect(read({ image }).image).toBe(image)
  })
})
