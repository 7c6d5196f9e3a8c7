// SPDX-License-Identifier: Apache-2.0
// Flags of every query about policies: mesh settings and the time budget. For a cluster, its own mesh provides the
// settings; flags override them.

import { type MeshConfig, PATH_NORMALIZATIONS, type PathNormalization } from "@merlon/policy/mesh"
import { DEFAULT_PROOF_LIMITS, type Limits } from "@merlon/policy/proof"
import { type Command, Option } from "commander"
import { duration, several, trustDomain, whole } from "../../arguments.js"
import { DIALECTS, type DialectFlags } from "./dialect.js"

export interface MeshSettings extends DialectFlags {
  readonly trustDomain?: string
  readonly trustDomainAlias: readonly string[]
  /** Absent for the mesh's default. */
  readonly pathNormalization?: PathNormalization
  readonly trustedProxies?: number
  /** A file with Istio's mesh configuration. */
  readonly meshConfig?: string
}

export interface QuestionFlags extends MeshSettings {
  readonly budget: number
}

export function withQuestionFlags(command: Command): Command {
  return withMeshSettings(command).addOption(
    new Option("--budget <time>", "stop after this time with exit code 4").argParser(duration).default(60_000, "60s"),
  )
}

/** Only the mesh settings, for queries without proofs. */
export function withMeshSettings(command: Command): Command {
  return command
    .addOption(
      new Option("--dialect <name>", "mesh that the policies are written for (default: by their API groups)").choices(
        DIALECTS,
      ),
    )
    .option(
      "--mesh-config <file>",
      "file with Istio's MeshConfig or its ConfigMap (default: the one among the files, or in the cluster)",
    )
    .addOption(
      new Option("--trust-domain <domain>", `trust domain of the mesh (${otherwise("cluster.local")})`).argParser(
        trustDomain,
      ),
    )
    .option(
      "--trust-domain-alias <domain>",
      `another trust domain whose identities count; repeatable (${otherwise("none")})`,
      several,
      [],
    )
    .addOption(
      new Option(
        "--path-normalization <mode>",
        `how the mesh normalizes paths (${otherwise("MERGE_SLASHES (BASE with --mesh istio)")})`,
      ).choices(PATH_NORMALIZATIONS),
    )
    .addOption(
      new Option(
        "--trusted-proxies <n>",
        `number of trusted proxies in front of workloads (${otherwise("0")})`,
      ).argParser(whole(0, 100)),
    )
}

const otherwise = (text: string): string => `default: the mesh's own, ${text} for files`

/** Only the settings that flags give. */
export function givenSettings(flags: MeshSettings): Partial<Omit<MeshConfig, "names">> {
  const { trustDomain: domain, trustDomainAlias, pathNormalization, trustedProxies } = flags
  return {
    ...(domain === undefined ? {} : { trustDomain: domain }),
    ...(trustDomainAlias.length === 0 ? {} : { trustDomainAliases: trustDomainAlias }),
    ...(pathNormalization === undefined ? {} : { pathNormalization }),
    ...(trustedProxies === undefined ? {} : { numTrustedProxies: trustedProxies }),
  }
}

export function limitsOf({ budget }: Pick<QuestionFlags, "budget">): Limits {
  return { steps: DEFAULT_PROOF_LIMITS.steps * 50, deadline: performance.now() + budget, now: () => performance.now() }
}
