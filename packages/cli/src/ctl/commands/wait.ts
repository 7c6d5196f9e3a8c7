// SPDX-License-Identifier: Apache-2.0
// `merlonctl wait`: waits until a policy is Ready, or until a condition of any object has a value.

import { ApiError } from "@merlon/control/kubernetes"
import { Command, Option } from "commander"
import { duration } from "../../arguments.js"
import { pathOf } from "../api/path.js"
import { awaitReady, isOurs, writtenOf } from "../apply/await-ready.js"
import { type AnyObject, kindName } from "../catalog/resource.js"
import { withSession } from "../connect.js"
import { CommandError, usageError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { fieldsOf, listOf, textOf } from "../foreign.js"
import { isUnknownKind, unknownKind } from "../lookup/not-found.js"
import { findTargets, type Target } from "../lookup/targets.js"
import type { Session } from "../session.js"
import { print, visible } from "../terminal.js"

interface Flags extends ClusterFlags {
  readonly for: string
  readonly timeout: number
}

const LOOK_MS = 200

export function waitCommand(): Command {
  return withClusterFlags(
    new Command("wait")
      .description("Wait until objects are Ready, have a condition, or are deleted")
      .argument("<objects...>", "KIND/NAME, or KIND NAME…")
      .option("--for <what>", "Ready, condition=NAME, condition=NAME=STATUS or delete", "Ready")
      .addOption(new Option("--timeout <time>", "timeout for each object").argParser(duration).default(30_000, "30s")),
  )
    .addHelpText("after", EXAMPLES)
    .action((words: string[], flags: Flags) => withSession(flags, session => run(session, words, flags)))
}

const EXAMPLES = `
Exits with 1 where the time is over, or waiting is in vain.

Examples:
  merlonctl wait authorizationpolicy/readers -n foo --for Ready
  merlonctl wait policyinvariant admin -n foo --for condition=Holds
  merlonctl wait ap/readers -n foo --for delete --timeout 1m`

async function run(session: Session, words: readonly string[], flags: Flags): Promise<void> {
  const { targets } = await findTargets(session, words)
  if (targets.length === 0) throw usageError("name what to wait for: `KIND/NAME`, or `KIND NAME…`")
  const goal = goalOf(flags.for)
  for (const target of targets) {
    const label = `${kindName(target.resource)}/${target.name}`
    print(`${label} ${visible(await fulfilled(session, target, goal, flags.timeout))}`)
  }
}

type Goal = { readonly kind: "delete" } | { readonly kind: "condition"; readonly type: string; readonly status: string }

function goalOf(text: string): Goal {
  if (text === "delete") return { kind: "delete" }
  const [, type, status = "True"] = /^(?:condition=)?([A-Za-z]+)(?:=([A-Za-z]+))?$/.exec(text) ?? []
  if (type === undefined) {
    throw usageError(
      `\`--for ${text}\` is not understood; write \`Ready\`, \`condition=NAME\`, \`condition=NAME=STATUS\` or \`delete\``,
    )
  }
  return { kind: "condition", type: type.charAt(0).toUpperCase() + type.slice(1), status }
}

async function fulfilled(session: Session, target: Target, goal: Goal, timeoutMs: number): Promise<string> {
  const path = pathOf(target.resource, target)
  const label = `${kindName(target.resource)}/${target.name}`
  const end = Date.now() + timeoutMs
  let last = "there is no such object"
  for (;;) {
    const object = await existing(session, target, path)
    if (object === undefined && goal.kind === "delete") return "is gone"
    if (object !== undefined && goal.kind === "delete") last = "it is still there"
    if (object !== undefined && goal.kind === "condition") {
      // Conditions of our own kinds name their generation, and reasons for which waiting is pointless.
      if (goal.type === "Ready" && goal.status === "True" && isOurs(target.resource, session)) {
        return await named(label, () =>
          awaitReady(session, writtenOf(target.resource, object), Math.max(0, end - Date.now())),
        )
      }
      const condition = conditionOf(object, goal.type)
      if (condition?.status === goal.status && condition.isCurrent) {
        return condition.message === "" ? `${goal.type} is ${condition.status}` : condition.message
      }
      last =
        condition === undefined
          ? `it has no condition \`${goal.type}\``
          : `\`${goal.type}\` is ${condition.status}${condition.isCurrent ? "" : " of what was stored before"}: ${condition.message}`
    }
    if (Date.now() > end)
      throw new CommandError("not-ready", `${label}: timed out after ${timeoutMs / 1000} s: ${last}`)
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
}

/** Adds the target to errors of a wait. */
async function named<T>(label: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof CommandError ? new CommandError(error.code, `${label}: ${error.message}`) : error
  }
}

async function existing(session: Session, { resource }: Target, path: string): Promise<AnyObject | undefined> {
  try {
    return (await session.api.request({ method: "GET", path })) as AnyObject // an object from the server
  } catch (error) {
    // A kind that is not served never had objects, so none was deleted: it may be the wrong cluster.
    if (isUnknownKind(error)) throw unknownKind(resource, session.names)
    if (error instanceof ApiError && error.reason === "NotFound") return undefined
    throw error
  }
}

interface CurrentCondition {
  readonly status: string
  readonly message: string
  /** False if the condition is about an earlier generation of the object. */
  readonly isCurrent: boolean
}

function conditionOf({ metadata, status: own }: AnyObject, wanted: string): CurrentCondition | undefined {
  const { conditions, observedGeneration: seen } = fieldsOf(own)
  for (const condition of listOf(conditions)) {
    const { type, status, message, observedGeneration = seen } = fieldsOf(condition)
    if (type !== wanted) continue
    const isCurrent = !(Number(observedGeneration) < Number(metadata.generation))
    return { status: textOf(status) ?? "Unknown", message: textOf(message) ?? "", isCurrent }
  }
  return undefined
}
