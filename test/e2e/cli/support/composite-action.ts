// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a composite GitHub Action on this machine as written: expressions, outputs, summary, and stopping
// at the first failed step. Steps that use other actions are listed and not run.

import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"

interface Step {
  readonly id?: string
  readonly name: string
  readonly if?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly run?: string
}

export interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string; readonly required?: boolean }>>
  readonly outputs: Readonly<Record<string, { readonly value: string }>>
  readonly runs: { readonly using: string; readonly steps: readonly Step[] }
}

export interface ActionRun {
  readonly inputs: Readonly<Record<string, string>>
  /** Values of the expressions under `github`, by path, such as `event.pull_request.number`. */
  readonly github: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** A folder for this run only. */
  readonly temp: string
}

export interface ActionResult {
  readonly failed: string | undefined
  readonly log: string
  readonly summary: string
  readonly outputs: Readonly<Record<string, string>>
  /** Other actions, with their inputs. */
  readonly used: readonly { readonly uses: string; readonly with: Readonly<Record<string, string>> }[]
}

export const readAction = (file: string): Action => parse(readFileSync(file, "utf8"))

export async function runAction(action: Action, run: ActionRun): Promise<ActionResult> {
  const folder = mkdtempSync(join(run.temp, "run-"))
  const summary = join(folder, "summary")
  writeFileSync(summary, "")
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries(run.github)) values.set(`github.${name}`, value)
  for (const [name, { default: value = "" }] of Object.entries(action.inputs)) {
    values.set(`inputs.${name}`, run.inputs[name] ?? filled(String(value), values))
  }
  const used: { uses: string; with: Record<string, string> }[] = []
  let log = ""
  let failed: string | undefined
  for (const [index, step] of action.runs.steps.entries()) {
    if (step.if !== undefined && !isTrue(evaluate(step.if, values))) continue
    if (step.uses !== undefined) {
      used.push({ uses: step.uses, with: filledAll(step.with, values) })
      continue
    }
    const output = join(folder, `output-${index}`)
    writeFileSync(output, "")
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      RUNNER_TEMP: folder,
      GITHUB_OUTPUT: output,
      GITHUB_STEP_SUMMARY: summary,
      ...run.env,
      ...filledAll(step.env, values),
    }
    const { code, text } = await bash(step.run ?? "", run.cwd, env)
    log += text
    for (const line of readFileSync(output, "utf8")
      .split("\n")
      .filter(one => one !== "")) {
      const at = line.indexOf("=")
      values.set(`steps.${step.id}.outputs.${line.slice(0, at)}`, line.slice(at + 1))
    }
    if (code !== 0) {
      failed = step.name
      break
    }
  }
  const outputs = Object.entries(action.outputs).map(([name, { value }]) => [name, filled(value, values)])
  return { failed, log, summary: readFileSync(summary, "utf8"), outputs: Object.fromEntries(outputs), used }
}

/** Like the runner for `shell: bash`. */
function bash(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], { cwd, env })
    let text = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", chunk => (text += chunk))
    child.on("error", reject)
    child.on("close", code => resolve({ code, text }))
  })
}

function filledAll(texts: Readonly<Record<string, string>> | undefined, values: ReadonlyMap<string, string>) {
  return Object.fromEntries(Object.entries(texts ?? {}).map(([name, text]) => [name, filled(text, values)]))
}

function filled(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{\{(.*?)\}\}/g, (_, expression: string) => evaluate(expression, values))
}

const isTrue = (value: string): boolean => value !== "" && value !== "false"

/** The part of GitHub's expressions that our action uses: values, texts, `==`, `!=`, `&&` and `||`. */
function evaluate(expression: string, values: ReadonlyMap<string, string>): string {
  const either = expression.split("||")
  if (either.length > 1) return either.map(part => evaluate(part, values)).find(isTrue) ?? ""
  const both = expression.split("&&")
  if (both.length > 1) return String(both.every(part => isTrue(evaluate(part, values))))
  const [, left = "", sign, right = ""] = /^(.*?)(==|!=)(.*)$/.exec(expression) ?? []
  if (sign !== undefined) return String((evaluate(left, values) === evaluate(right, values)) === (sign === "=="))
  const word = expression.trim()
  const [, quoted] = /^'(.*)'$/.exec(word) ?? []
  if (quoted !== undefined) return quoted
  if (!/^(inputs|steps|github)\.[\w.-]+$/.test(word)) throw new Error(`not an expression that is known here: ${word}`)
  return values.get(word) ?? ""
}
