// SPDX-License-Identifier: Apache-2.0
// What a question is asked about: policies and workloads from files, or those of the cluster.

import { type PolicyDocument, type ProofWorkload, workloadsCalled } from "@merlon/policy"
import type { Command } from "commander"
import { several } from "../../arguments.js"
import { withSession } from "../connect.js"
import { CommandError, usageError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { tell, visible } from "../terminal.js"
import { clusterPolicies, clusterWorkloads } from "./cluster-set.js"
import { type PlacedPolicy, readPolicyFiles } from "./policy-files.js"
import { meshOf, type QuestionFlags, withQuestionFlags } from "./question-flags.js"
import { workloadsIn } from "./workload-files.js"

export interface SourceFlags extends ClusterFlags, QuestionFlags {
  readonly filename: readonly string[]
  readonly workloads?: string
}

export interface QuestionSource {
  readonly placed: readonly PlacedPolicy[]
  readonly policies: readonly PolicyDocument[]
  readonly workloads: readonly ProofWorkload[]
}

export function withSourceFlags(command: Command): Command {
  return withQuestionFlags(
    withClusterFlags(command)
      .option(
        "-f, --filename <path>",
        "policies and workloads from files, without a cluster; may be given several times",
        several,
        [],
      )
      .option("--workloads <path>", "with -f: workloads from other files than the policies"),
  )
}

export const note = (text: string): void => tell(`note: ${visible(text)}`)

/** Policies, and Pods or what makes them: both may stand in the same files. */
export async function questionSource(flags: Omit<SourceFlags, "budget">): Promise<QuestionSource> {
  if (flags.filename.length === 0) {
    if (flags.workloads !== undefined) throw usageError("`--workloads` goes with `-f`; the cluster knows its own")
    return withSession(flags, async session => {
      const policies = await clusterPolicies(session, note)
      const placed = policies.map(document => ({ document, source: undefined, locate: () => undefined }))
      return { policies, placed, workloads: await clusterWorkloads(session) }
    })
  }
  const { names } = meshOf(flags)
  const namespace = flags.namespace ?? "default"
  const files = await Promise.all(flags.filename.map(path => readPolicyFiles(path, names, namespace, note)))
  const beside =
    flags.workloads === undefined ? files : [await readPolicyFiles(flags.workloads, names, namespace, note)]
  return {
    policies: files.flatMap(({ policies }) => policies),
    placed: files.flatMap(({ placed }) => placed),
    workloads: workloadsIn(
      beside.flatMap(({ others }) => others.map(({ value }) => value)),
      names,
      namespace,
    ),
  }
}

/** By `name`, or `namespace/name`: a Pod's own, that of what runs it, or that of a Service that leads to it. */
export function workloadNamed(
  word: string,
  workloads: readonly ProofWorkload[],
  namespace: string | undefined,
): ProofWorkload {
  const [first, ...others] = workloadsCalled(word, workloads, namespace)
  const listed = (some: readonly ProofWorkload[]): string =>
    some
      .slice(0, MAX_NAMED)
      .map(one => `${one.namespace}/${one.name}`)
      .join(", ")
  if (first === undefined) {
    throw new CommandError(
      `there is no workload \`${word}\`${workloads.length === 0 ? "; name Pods or Deployments with `-f`" : `; there are ${listed(workloads)}`}`,
    )
  }
  if (others.length > 0) throw new CommandError(`\`${word}\` may be ${listed([first, ...others])}; write which`)
  return first
}

const MAX_NAMED = 8
