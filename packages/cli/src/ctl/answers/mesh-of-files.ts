// SPDX-License-Identifier: Apache-2.0
// How the mesh of files is set up. Merlon's own files do not tell, so flags do; Istio's mesh configuration counts where it
// is named or stands among the files.

import { type MeshConfig, meshConfig, PATH_NORMALIZATIONS, type PathNormalization } from "@merlon/policy/mesh"
import type { SourceText } from "../documents/sources.js"
import { CommandError, usageError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"
import { readText } from "../read-text.js"
import { isIstio, namesIn, objectsIn } from "./dialect.js"
import { givenSettings, type MeshSettings } from "./question-flags.js"

/** The mesh that the texts describe. `note` is told where that is not Merlon's own. */
export async function meshOfFiles(
  texts: readonly SourceText[],
  flags: MeshSettings,
  note: (text: string) => void,
): Promise<MeshConfig> {
  const { meshConfig: path } = flags
  const names = namesIn(texts, flags)
  if (!isIstio(names)) {
    if (path !== undefined) throw usageError("`--mesh-config` is Istio's; these policies are not")
    return meshConfig({ names, ...givenSettings(flags) })
  }
  note("these are Istio's policies, decided by Merlon's rules; docs/semantics.md lists where Istio decides otherwise")
  const written = path === undefined ? writtenIn(texts) : namedConfig({ name: path, text: await readText(path) })
  const { rootNamespace = names.rootNamespace, ...settings } = settingsIn(written)
  return meshConfig({ names: { ...names, rootNamespace }, ...settings, ...givenSettings(flags) })
}

function namedConfig({ name, text }: SourceText): Fields {
  const [first = {}] = objectsIn(text)
  const found = configIn(first) ?? (first.kind === undefined ? first : undefined)
  if (found !== undefined) return found
  throw new CommandError("invalid-document", `${name}: it is neither a MeshConfig nor the ConfigMap \`istio\``)
}

function writtenIn(texts: readonly SourceText[]): Fields {
  const likely = texts.filter(({ text }) => /ConfigMap|IstioOperator/.test(text))
  return (
    likely
      .flatMap(({ text }) => objectsIn(text))
      .map(configIn)
      .find(found => found !== undefined) ?? {}
  )
}

/** Of the ConfigMap `istio`, or of an IstioOperator. */
function configIn({ kind, metadata, data, spec }: Fields): Fields | undefined {
  if (kind === "IstioOperator") return fieldsOf(fieldsOf(spec).meshConfig)
  const { mesh } = fieldsOf(data)
  if (kind !== "ConfigMap" || fieldsOf(metadata).name !== "istio" || typeof mesh !== "string") return undefined
  return objectsIn(mesh)[0]
}

interface IstioSettings extends Partial<Omit<MeshConfig, "names">> {
  readonly rootNamespace?: string
}

function settingsIn({
  trustDomain,
  trustDomainAliases,
  rootNamespace,
  pathNormalization,
  defaultConfig,
}: Fields): IstioSettings {
  const { normalization } = fieldsOf(pathNormalization)
  const { numTrustedProxies } = fieldsOf(fieldsOf(defaultConfig).gatewayTopology)
  const aliases = listOf(trustDomainAliases).flatMap(one => textOf(one) ?? [])
  return {
    ...(typeof trustDomain === "string" && { trustDomain }),
    ...(typeof rootNamespace === "string" && { rootNamespace }),
    ...(aliases.length > 0 && { trustDomainAliases: aliases }),
    ...(normalization !== undefined && { pathNormalization: normalizationOf(normalization) }),
    ...(typeof numTrustedProxies === "number" && { numTrustedProxies }),
  }
}

function normalizationOf(value: unknown): PathNormalization {
  // Istio's word for what it does by itself.
  const found = value === "DEFAULT" ? "BASE" : PATH_NORMALIZATIONS.find(mode => mode === value)
  if (found !== undefined) return found
  throw new CommandError(
    "invalid-document",
    `the mesh configuration has the path normalization \`${String(value)}\`; known are DEFAULT, ${PATH_NORMALIZATIONS.join(", ")}`,
  )
}
