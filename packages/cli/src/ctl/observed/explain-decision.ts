// SPDX-License-Identifier: Apache-2.0
// Explains one decision by its id, with data from its proxy.

import { ApiError } from "@merlon/control/kubernetes"
import { workloadsCalled } from "@merlon/policy/proof"
import { type PolicyEdit, RequestDescriptionError, readLogLine } from "@merlon/policy/trial"
import { clusterPolicies, clusterWorkloads } from "../answers/cluster-set.js"
import { InputLog, isComplete } from "../answers/inputs.js"
import type { MeshSettings } from "../answers/question-flags.js"
import { CommandError, EXIT } from "../exit.js"
import { explanationOf } from "../explain/explanation.js"
import { changeLines } from "../explain/format.js"
import { textOf } from "../foreign.js"
import { clusterMesh } from "../mesh/mesh-settings.js"
import type { Session } from "../session.js"
import { print, visible } from "../terminal.js"
import { type Observation, observedOne } from "./answers-api.js"
import { decisionText } from "./decision-text.js"
import { decisionJson } from "./json.js"

export async function explainDecision(
  session: Session,
  id: string,
  flags: MeshSettings & { readonly output: "text" | "json" },
): Promise<void> {
  const seen = await found(session, id)
  const change = await changeFor(session, seen, flags)
  if (flags.output === "json") print(decisionJson(seen, change))
  else print([decisionText(seen), ...(change === undefined ? [] : ["", TRIED, ...changeLines(change)])].join("\n"))
  process.exitCode = seen.spec.verdict === "allow" ? EXIT.ok : EXIT.found
}

const TRIED = "The smallest change that would allow it (evaluated without the token and headers it may have had):"

/**
 * The change under the current policies. Undefined if the user may not read them, or if they now deny the request for
 * another reason.
 */
async function changeFor(
  session: Session,
  { spec }: Observation,
  flags: MeshSettings,
): Promise<readonly PolicyEdit[] | undefined> {
  if (spec.verdict === "allow" || (spec.stage !== "allow" && spec.stage !== "deny")) return undefined
  try {
    const log = new InputLog()
    const { workloads } = await clusterWorkloads(session, log)
    const [workload] = workloadsCalled(textOf(spec.workload) ?? "", workloads, undefined)
    if (workload === undefined) return undefined
    const { host: _, ...asked } = readLogLine(JSON.stringify(spec))
    const documents = await clusterPolicies(session, log)
    const mesh = await clusterMesh(session, flags, log, () => {})
    // A change that was verified with other policies than the enforced ones may have no effect.
    if (!isComplete(log.of(0, 0))) return undefined
    const question = { documents, workload, mesh, asked, now: Math.floor(Date.now() / 1000) }
    const { stages, change } = explanationOf(question)
    return stages.some(({ stage, outcome }) => stage === spec.stage && outcome === "denied") ? change : undefined
  } catch (error) {
    if (error instanceof RequestDescriptionError || isForbidden(error)) return undefined
    throw error
  }
}

async function found(session: Session, id: string): Promise<Observation> {
  try {
    return await decision(session, id)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error
    throw new CommandError("not-found", `${visible(error.message)}; list recent ids with \`merlonctl decisions -A\``)
  }
}

/** Queries all namespaces; a user without that permission queries their own. */
async function decision(session: Session, name: string): Promise<Observation> {
  const query = { resource: "decisions", name } as const
  if (session.askedNamespace !== undefined) return observedOne(session, { ...query, namespace: session.askedNamespace })
  try {
    return await observedOne(session, { ...query, namespace: undefined })
  } catch (error) {
    if (!isForbidden(error)) throw error
    return observedOne(session, { ...query, namespace: session.namespace })
  }
}

const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.code === 403
