// SPDX-License-Identifier: Apache-2.0
// What every question about policies may be told: how the mesh is set up where no cluster says so, and how long to think.

import {
  type Limits,
  type MeshConfig,
  meshConfig,
  meshNames,
  PATH_NORMALIZATIONS,
  PATIENT,
  type PathNormalization,
} from "@merlon/policy"
import { type Command, Option } from "commander"
import { duration, several, trustDomain, whole } from "../../arguments.js"

export interface MeshSettings {
  readonly mesh: string
  readonly domain: string
  readonly trustDomain: string
  readonly trustDomainAlias: readonly string[]
  /** Absent: the default of the mesh's word. */
  readonly pathNormalization?: PathNormalization
  readonly trustedProxies: number
}

export interface QuestionFlags extends MeshSettings {
  readonly budget: number
}

export function withQuestionFlags(command: Command): Command {
  return withMeshSettings(command).addOption(
    new Option("--budget <time>", "give up after this, with exit code 4").argParser(duration).default(60_000, "60s"),
  )
}

/** Those of the mesh alone, for questions that need no thinking. */
export function withMeshSettings(command: Command): Command {
  return command
    .addOption(new Option("--trust-domain <domain>", "of the mesh").argParser(trustDomain).default("cluster.local"))
    .option(
      "--trust-domain-alias <domain>",
      "another one whose identities count; may be given several times",
      several,
      [],
    )
    .addOption(
      new Option(
        "--path-normalization <mode>",
        "as the mesh is configured (default: MERGE_SLASHES; BASE with --mesh istio)",
      ).choices(PATH_NORMALIZATIONS),
    )
    .addOption(
      new Option("--trusted-proxies <n>", "in front of workloads, as the mesh is configured")
        .argParser(whole(0, 100))
        .default(0),
    )
}

export function meshOf(flags: MeshSettings): MeshConfig {
  return meshConfig({
    names: meshNames(flags),
    trustDomain: flags.trustDomain,
    trustDomainAliases: flags.trustDomainAlias,
    pathNormalization: flags.pathNormalization,
    numTrustedProxies: flags.trustedProxies,
  })
}

export function limitsOf({ budget }: Pick<QuestionFlags, "budget">): Limits {
  return { steps: PATIENT.steps * 50, deadline: performance.now() + budget, now: () => performance.now() }
}
