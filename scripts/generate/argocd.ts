// SPDX-License-Identifier: Apache-2.0
// The health check for Argo CD as a patch of its ConfigMap, which contains the script once for each kind.

import { readFileSync } from "node:fs"
import type { MeshNames } from "@merlon/policy/mesh"
import { KINDS } from "@merlon/policy/resources"

export const HEALTH_SCRIPT = "deploy/argocd/health.lua"
export const ARGOCD_PATCH = "deploy/argocd/argocd-cm.yaml"

/** For `kubectl patch configmap argocd-cm -n argocd --patch-file`. */
export function argocdPatch({ securityGroup, networkingGroup }: MeshNames): string {
  const script = readFileSync(new URL(`../../${HEALTH_SCRIPT}`, import.meta.url), "utf8")
  const body = script.replace(/^(?=.)/gm, "    ")
  const keys = KINDS.map(({ kind, group }) => `${group === "security" ? securityGroup : networkingGroup}_${kind}`)
  const entries = keys.map(key => `  resource.customizations.health.${key}: |\n${body}`)
  return `# Written by \`npm run generate\` from ${HEALTH_SCRIPT}. Do not edit.\ndata:\n${entries.join("")}`
}
