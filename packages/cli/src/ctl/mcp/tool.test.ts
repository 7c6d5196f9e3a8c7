// SPDX-License-Identifier: Apache-2.0
import type { Command } from "commander"
import { describe, expect, it } from "vitest"
import { COMMANDS } from "../command-table.js"
import { programFor } from "../program.js"
import { commandLine, listedTool, type Tool } from "./tool.js"
import { tools } from "./tools.js"

const FILES = tools({ cluster: undefined, mesh: [] })
const CLUSTER = tools({ cluster: ["--context=c"], mesh: ["--mesh=m"] })
const named = (name: string, all = FILES): Tool => {
  const found = all.find(one => one.name === name)
  if (found === undefined) throw new Error(`no tool ${name}`)
  return found
}

async function commandOf({ command: [name = "", sub] }: Tool): Promise<Command> {
  const loaded = await COMMANDS[name]?.load(() => programFor("*"))
  const found = loaded?.commands.find(one => one.name() === sub) ?? loaded
  if (found === undefined) throw new Error(`no command ${name}`)
  return found
}

/** Options that a tool does not offer, each with the reason. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  "--output": "`format`",
  "--kubeconfig": "the user who starts the server chooses the cluster",
  "--context": "the same",
  "--request-timeout": "the same",
  "--mesh": "the user who starts the server chooses the mesh",
  "--domain": "the same",
  "--fail-on": "for exit codes of pipelines",
  "--certificate": "it writes",
  "--junit": "it writes",
  "--watch": "it does not end",
}

describe.each(CLUSTER.map(tool => [tool.name, tool] as const))("tool %s", (name, tool) => {
  it("offers options that the command has", async () => {
    const command = await commandOf(tool)
    const flags = command.options.map(({ long }) => long)
    const offered = Object.values(tool.arguments).flatMap(({ flag }) => flag ?? [])
    expect(flags).toEqual(expect.arrayContaining(offered))
    // A cluster has its own mesh settings, and `get` shows only policies.
    if (["get", "describe"].includes(name)) return
    const left = flags.filter(flag => !offered.includes(flag ?? "") && !Object.hasOwn(NOT_OFFERED, flag ?? ""))
    expect(left.filter(flag => !["--namespace"].includes(flag ?? ""))).toEqual([])
  })

  it("says that it only reads", () => {
    expect(listedTool(tool)).toMatchObject({ annotations: { readOnlyHint: true } })
  })
})

describe("the command line", () => {
  it("gives each value to its option, as one word", () => {
    const given = { workload: "foo/web", files: ["a", "b"], port: 80, budget: 5, methods: ["GET"], format: "text" }
    expect(commandLine(named("who-can"), given)).toEqual({
      words: ["who-can", "--filename=a", "--filename=b", "--method=GET", "--port=80", "--budget=5s", "--", "foo/web"],
    })
  })

  it("puts the options of the user who started the server first", () => {
    expect(commandLine(named("describe", CLUSTER), { workload: "a/b" })).toEqual({
      words: ["describe", "workload", "--mesh=m", "--context=c", "--output=json", "--", "a/b"],
    })
    expect(commandLine(named("test", CLUSTER), { tests: ["t"] })).toEqual({
      words: ["test", "--mesh=m", "--output=json", "--", "t"],
    })
  })

  it("never reads a value as an option", () => {
    const given = { workload: "--kubeconfig=/etc/passwd", files: ["--output=md"] }
    expect(commandLine(named("who-can"), given)).toEqual({
      words: ["who-can", "--output=json", "--filename=--output=md", "--", "--kubeconfig=/etc/passwd"],
    })
  })

  it.each([
    ["no object", ["a"], "arguments must be an object"],
    ["no object but null", null, "arguments must be an object"],
    ["an unknown argument", { workload: "w", files: ["f"], kubeconfig: "x" }, "no argument `kubeconfig`"],
    ["a missing argument", { files: ["f"] }, "`workload` must be a string that is not empty"],
    ["no files", { workload: "w" }, "`files` must be a list"],
    ["an empty list", { workload: "w", files: [] }, "`files` must be a list with at least one item"],
    ["a number for a string", { workload: 1, files: ["f"] }, "`workload` must be"],
    ["a string for a list", { workload: "w", files: "f" }, "`files` must be a list"],
    ["a list of numbers", { workload: "w", files: [1] }, "`files` must be a list, each item a file or folder"],
    ["standard input", { workload: "w", files: ["-"] }, "`files` must be a list, each item a file or folder"],
    ["a URL", { workload: "w", files: ["HTTPS://x"] }, "`files` must be a list, each item a file or folder"],
    ["a zero byte", { workload: "w\0", files: ["f"] }, "`workload` must be"],
    ["a port out of range", { workload: "w", files: ["f"], port: 65_536 }, "`port` must be a whole number"],
    ["a port with a fraction", { workload: "w", files: ["f"], port: 1.5 }, "`port` must be a whole number"],
    [
      "a word that is no choice",
      { workload: "w", files: ["f"], dialect: "linkerd" },
      "`dialect` must be one of merlon, istio",
    ],
    [
      "a format that is none",
      { workload: "w", files: ["f"], format: "constructor" },
      "`format` must be one of json, text",
    ],
    ["too many values", { workload: "w", files: Array(1_001).fill("f") }, "at most 1000"],
  ])("rejects %s", (_, given, error) => {
    expect(commandLine(named("who-can"), given)).toEqual({ error: expect.stringContaining(error) })
  })

  it("rejects a switch that is not a boolean", () => {
    const given = { from: "a", to: "b", workloads: "c", shadow: "yes" }
    expect(commandLine(named("diff"), given)).toEqual({ error: "`shadow` must be true or false" })
  })
})

it("offers cluster-only queries only with a cluster", () => {
  expect(FILES.map(({ name }) => name)).toEqual(["diff", "who-can", "what-can", "analyze", "explain", "test"])
  expect(CLUSTER.map(({ name }) => name).slice(6)).toEqual(["get", "describe", "check"])
})

it("offers no kind that contains secrets", () => {
  expect(commandLine(named("get", CLUSTER), { kind: "secrets" })).toEqual({ error: expect.stringContaining("`kind`") })
})
