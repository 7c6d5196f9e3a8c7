// SPDX-License-Identifier: Apache-2.0
// `merlonctl promote`: enforces a policy that is in shadow mode, after showing the effect.

import { createInterface } from "node:readline/promises"
import { callersAmong, diffSets } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { Command } from "commander"
import { diffText } from "../answers/diff-report.js"
import { InputLog, isComplete } from "../answers/inputs.js"
import { limitsOf, type QuestionFlags, withQuestionFlags } from "../answers/question-flags.js"
import { fromCluster } from "../answers/question-source.js"
import { logUnplaced } from "../answers/unplaced.js"
import { pathOf } from "../api/path.js"
import { kindName } from "../catalog/resource.js"
import { withSession } from "../connect.js"
import { CommandError, EXIT } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { oneObject, type Target } from "../lookup/targets.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags, QuestionFlags {
  readonly yes: boolean
}

export function promoteCommand(): Command {
  return withQuestionFlags(
    withClusterFlags(
      new Command("promote")
        .description("Enforce a policy that is in shadow mode, after showing the effect")
        .argument("<kind>", "kind, or kind/name")
        .argument("[name]", "name of the policy")
        .option("-y, --yes", "skip the confirmation", false),
    ),
  )
    .addHelpText("after", EXAMPLES)
    .action((kind: string, name: string | undefined, flags: Flags) =>
      withSession(flags, session => run(session, kind, name, flags)),
    )
}

const EXAMPLES = `
Exit codes: 0 promoted, 5 not promoted because nobody said yes, 4 not promoted because something was skipped that could
matter.

Examples:
  merlonctl promote authorizationpolicy/httpbin-observed -n foo
  merlonctl promote ap httpbin-observed -n foo --yes`

async function run(session: Session, kind: string, name: string | undefined, flags: Flags): Promise<void> {
  const target = await oneObject(session, kind, name)
  const label = `${kindName(target.resource)}/${target.name}`
  const {
    policies,
    workloads,
    mesh,
    read: inputs,
  } = await fromCluster({ ...session, askedNamespace: undefined }, flags)
  const stored = policies.find(document => isTarget(document, target))
  if (stored === undefined)
    throw new CommandError("not-found", `there is no policy ${label} in namespace \`${target.namespace}\``)
  const { spec } = stored
  const { dryRunAnnotation } = session.names
  const annotated = stored.metadata.annotations?.[dryRunAnnotation] !== undefined
  if (!annotated && !("enforcement" in spec && spec.enforcement === "Shadow")) {
    throw new CommandError("not-shadow", `${label} is not in shadow mode; it is enforced already`)
  }
  const { annotations: _, ...metadata } = stored.metadata
  const enforced = { ...stored, metadata, spec: { ...spec, enforcement: "Enforce" } } as PolicyDocument // the same kind
  const after = policies.map(document => (document === stored ? enforced : document))
  const options = {
    limits: limitsOf(flags),
    now: Math.floor(Date.now() / 1000),
    callers: callersAmong(workloads, mesh),
  }
  const log = new InputLog()
  const unselected = logUnplaced(policies, after, workloads, mesh, log)
  const read = { ...inputs, skipped: [...inputs.skipped, ...log.of(0, 0).skipped] }
  const diff = diffSets(policies, after, workloads, mesh, options)
  print(diffText({ diff, workloads, names: mesh.names, broken: [], unselected, read }))
  if (!isComplete(read)) {
    print(`${label} stays in shadow mode: what enforcing it changes is not known`)
    process.exitCode = EXIT.undecided
    return
  }
  if (!flags.yes && !(await isAgreed(label))) {
    print(`${label} stays in shadow mode`)
    process.exitCode = EXIT.found
    return
  }
  await session.api.request({
    method: "PATCH",
    path: pathOf(target.resource, target, { fieldManager: "merlonctl-promote" }),
    body: {
      metadata: {
        resourceVersion: stored.metadata.resourceVersion,
        ...(annotated ? { annotations: { [dryRunAnnotation]: null } } : {}),
      },
      spec: { enforcement: "Enforce" },
    },
    contentType: "application/merge-patch+json",
  })
  print(`${label} is enforced`)
}

function isTarget({ kind, metadata }: PolicyDocument, { resource, name, namespace }: Target): boolean {
  return kind === resource.kind && metadata.name === name && metadata.namespace === namespace
}

async function isAgreed(label: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new CommandError(
      "usage",
      `standard input is not a terminal, so merlonctl cannot ask; add \`--yes\` to enforce ${label}`,
    )
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`enforce ${label}? [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
