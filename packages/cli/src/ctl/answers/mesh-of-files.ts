// SPDX-License-Identifier: Apache-2.0
// How the mesh is set up. Merlon's own files do not tell, so flags do; Istio's mesh configuration counts where it is named,
// stands among the files or in the cluster.

import { isDeepStrictEqual } from "node:util"
import {
  type MeshConfig,
  type MeshNames,
  meshConfig,
  PATH_NORMALIZATIONS,
  type PathNormalization,
} from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { SourceText } from "../documents/sources.js"
import { CommandError, usageError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import { readText } from "../read-text.js"
import type { Session } from "../session.js"
import type { ClusterWorkloads } from "./cluster-set.js"
import { isIstio, namesIn, objectsIn, scopeOf } from "./dialect.js"
import type { InputLog, Scope } from "./inputs.js"
import { storedMeshConfig } from "./istio-cluster.js"
import { REVISION } from "./istio-sidecar.js"
import { givenSettings, type MeshSettings } from "./question-flags.js"

/** The mesh that the texts describe. `note` gets a line for Istio. */
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
  return istioMesh(path === undefined ? writtenIn(texts) : await namedConfig(path), names, flags, note)
}

/** The mesh of a cluster that runs Istio: by its ConfigMap, or by the file that flags name. */
export async function istioMeshOf(
  session: Session,
  flags: MeshSettings,
  log: Pick<InputLog, "skip">,
  note: (text: string) => void,
): Promise<MeshConfig> {
  if (flags.meshConfig !== undefined) {
    return istioMesh(await namedConfig(flags.meshConfig), session.names, flags, note)
  }
  const stored = await storedMeshConfig(session)
  if (typeof stored === "string") log.skip(`the mesh configuration: ${stored}; name it with \`--mesh-config\``)
  const written = typeof stored === "string" ? undefined : configIn({ kind: "ConfigMap", ...stored })
  return istioMesh(written ?? {}, session.names, flags, note)
}

function istioMesh(written: Fields, names: MeshNames, flags: MeshSettings, note: (text: string) => void): MeshConfig {
  note("these are Istio's policies, decided as Istio decides; docs/istio-policies.md lists what is not modelled")
  if (listOf(written.discoverySelectors).length > 0) {
    note("`discoverySelectors` limit this mesh to some namespaces; answers are about workloads of these")
  }
  const { rootNamespace = names.rootNamespace, ...settings } = settingsIn(written)
  // A sidecar of Istio trusts the last address of `X-Forwarded-For`, from any sender.
  const istio = { names: { ...names, rootNamespace }, dialect: "istio", numTrustedProxies: 1 } as const
  return meshConfig({ ...istio, ...settings, ...givenSettings(flags) })
}

async function namedConfig(name: string): Promise<Fields> {
  const text = await readText(name)
  const [first = {}] = objectsIn(text)
  const found = configIn(first) ?? (first.kind === undefined ? parsed(text) : undefined)
  if (found !== undefined) return found
  throw invalid(`${name} is neither a MeshConfig nor the ConfigMap \`istio\``)
}

/** One mesh has one configuration: under two that differ, the same policies would mean two things. */
function writtenIn(texts: readonly SourceText[]): Fields {
  const [first, ...others] = configsIn(texts)
  if (others.some(other => isOther(other, first)))
    throw invalid("the files hold different mesh configurations; name the one that counts with `--mesh-config`")
  return first?.config ?? {}
}

interface WrittenConfig {
  /** Of the control plane; undefined for the default one. */
  readonly revision: string | undefined
  readonly config: Fields
}

/** Those of the default revision, else of all. */
function configsIn(texts: readonly SourceText[]): readonly WrittenConfig[] {
  const found = allConfigsIn(texts)
  const own = found.filter(({ revision }) => revision === undefined)
  return own.length > 0 ? own : found
}

function allConfigsIn(texts: readonly SourceText[]): readonly WrittenConfig[] {
  const likely = texts.filter(({ text }) => /ConfigMap|IstioOperator/.test(text))
  return likely.flatMap(({ text }) =>
    objectsIn(text).flatMap(object => {
      const config = configIn(object)
      const name = textOf(fieldsOf(object.metadata).name) ?? ""
      const revision = object.kind === "ConfigMap" ? /^istio-(.+)$/.exec(name)?.[1] : undefined
      return config === undefined ? [] : [{ revision, config }]
    }),
  )
}

/** Providers do not change what other policies mean. */
function isOther(one: WrittenConfig, other: WrittenConfig | undefined): boolean {
  const compared = (config: Fields) => ({ ...settingsIn(config), declaredProviders: [] })
  return !isDeepStrictEqual(compared(one.config), compared(other?.config ?? {}))
}

/** Logs the configurations of other revisions of Istio, which are those of the Pods and Namespaces that are labelled so. */
export function logRevisions(texts: readonly SourceText[], flags: MeshSettings, log: Pick<InputLog, "skip">): void {
  if (flags.meshConfig !== undefined || !isIstio(namesIn(texts, flags))) return
  const [counted] = configsIn(texts)
  const others = allConfigsIn(texts).filter(one => one.revision !== counted?.revision && isOther(one, counted))
  if (others.length === 0) return
  const ofNamespaces = new Map(
    texts
      .flatMap(({ text }) => (text.includes(REVISION) ? objectsIn(text) : []))
      .flatMap(({ kind, metadata }) => (kind === "Namespace" ? [fieldsOf(metadata)] : []))
      .map(({ name, labels }) => [textOf(name), textsOf(labels)[REVISION]] as const),
  )
  for (const { revision } of others) {
    if (revision === undefined) continue
    log.skip(otherRevision(revision), ({ namespace, labels }) => {
      const own = Object.hasOwn(labels, REVISION) ? labels[REVISION] : ofNamespaces.get(namespace)
      return own === revision
    })
  }
}

/** The same of a cluster, where Pods say which revision configures them. */
export async function logClusterRevisions(
  session: Session,
  flags: MeshSettings,
  { revisions }: ClusterWorkloads,
  log: Pick<InputLog, "skip">,
): Promise<void> {
  if (flags.meshConfig !== undefined) return
  const others = [...revisions].filter(([revision]) => revision !== "default")
  if (others.length === 0) return
  const written = async (revision?: string): Promise<WrittenConfig | undefined> => {
    const stored = await storedMeshConfig(session, revision)
    const config = typeof stored === "string" ? undefined : configIn({ kind: "ConfigMap", ...stored })
    return config && { revision, config }
  }
  const counted = await written()
  for (const [revision, pods] of others) {
    const own = await written(revision)
    if (own !== undefined && !isOther(own, counted)) continue
    log.skip(otherRevision(revision), ({ namespace, name }) => pods.has(`${namespace}/${name}`))
  }
}

const otherRevision = (revision: string): string =>
  `ConfigMap istio-${revision}: it configures the Pods of this revision; name it with \`--mesh-config\``

/** Of the ConfigMap `istio`, of `istio-REVISION`, or of an IstioOperator. */
function configIn({ kind, metadata, data, spec }: Fields): Fields | undefined {
  if (kind === "IstioOperator") return fieldsOf(fieldsOf(spec).meshConfig)
  const { mesh } = fieldsOf(data)
  const isNamed = /^istio(-.+)?$/.test(textOf(fieldsOf(metadata).name) ?? "")
  if (kind !== "ConfigMap" || !isNamed || typeof mesh !== "string") return undefined
  return parsed(mesh)
}

function parsed(text: string): Fields {
  const [first, ...others] = objectsIn(text)
  if (first === undefined || others.length > 0) throw invalid("the mesh configuration is not one YAML document")
  return first
}

interface IstioSettings extends Partial<Omit<MeshConfig, "names">> {
  readonly rootNamespace?: string
}

function settingsIn(config: Fields): IstioSettings {
  const { normalization } = fieldsOf(config.pathNormalization)
  const trustDomain = setting("trustDomain", config.trustDomain, isText)
  const rootNamespace = setting("rootNamespace", config.rootNamespace, isText)
  const trustDomainAliases = setting("trustDomainAliases", config.trustDomainAliases, isTexts)
  const isRead = Object.keys(config).length > 0
  return {
    ...(isRead && { declaredProviders: providersIn(config) }),
    ...(trustDomain !== undefined && { trustDomain }),
    ...(rootNamespace !== undefined && { rootNamespace }),
    ...(trustDomainAliases !== undefined && { trustDomainAliases }),
    ...(normalization !== undefined && { pathNormalization: normalizationOf(normalization) }),
  }
}

const providersIn = ({ extensionProviders }: Fields): readonly string[] =>
  listOf(extensionProviders).flatMap(one => textOf(fieldsOf(one).name) ?? [])

/** Logs CUSTOM policies for which Istio denies more than their provider does. */
export function logProviders(policies: readonly PolicyDocument[], mesh: MeshConfig, log: Pick<InputLog, "skip">): void {
  const { declaredProviders, dialect } = mesh
  if (dialect !== "istio") return
  const seen: { readonly provider: string; readonly scope: Scope }[] = []
  for (const { kind, metadata, spec } of policies) {
    if (kind !== "AuthorizationPolicy" || spec.action !== "CUSTOM") continue
    const [provider, scope] = [spec.provider?.name ?? "", scopeOf({ metadata, spec })]
    const others = seen.filter(other => other.provider !== provider)
    const what = `AuthorizationPolicy ${metadata.namespace}/${metadata.name}: not modelled`
    seen.push({ provider, scope })
    if (declaredProviders !== undefined && !declaredProviders.includes(provider)) {
      const why = `the mesh configuration declares no provider \`${provider}\`, and Istio denies every request then`
      log.skip(`${what}: ${why}`, scope)
    }
    if (others.length === 0) continue
    const named = [...new Set(others.map(other => `\`${other.provider}\``))].join(", ")
    log.skip(
      `${what}: it asks \`${provider}\`, and other CUSTOM policies of the workload ask ${named}: Istio denies what any of them matches, unless its control plane has PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS`,
      (one, root) => scope(one, root) && others.some(other => other.scope(one, root)),
    )
  }
}

/** A setting that cannot be read is an error: answers under the default would be about another mesh. */
function setting<T>(name: string, value: unknown, isRight: (value: unknown) => value is T): T | undefined {
  if (value === undefined || value === null || isRight(value)) return value ?? undefined
  throw invalid(`the mesh configuration has no valid \`${name}\``)
}

const isText = (value: unknown): value is string => typeof value === "string"
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)

function normalizationOf(value: unknown): PathNormalization {
  // Istio's word for its own default.
  const found = value === "DEFAULT" ? "BASE" : PATH_NORMALIZATIONS.find(mode => mode === value)
  if (found !== undefined) return found
  const known = PATH_NORMALIZATIONS.join(", ")
  throw invalid(`the mesh configuration has the path normalization \`${String(value)}\`; known are DEFAULT, ${known}`)
}

const invalid = (message: string): CommandError => new CommandError("invalid-document", message)
