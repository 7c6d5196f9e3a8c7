// SPDX-License-Identifier: Apache-2.0
// The settings of the mesh. Merlon's own files do not contain them, so flags set them. Istio's mesh configuration is
// read from the file that a flag names, from the given files, or from the cluster.

import { isDeepStrictEqual } from "node:util"
import {
  type MeshConfig,
  type MeshNames,
  meshConfig,
  PATH_NORMALIZATIONS,
  type PathNormalization,
} from "@merlon/policy/mesh"
import { concerns } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import type { SourceText } from "../documents/sources.js"
import { CommandError, usageError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import { readText } from "../read-text.js"
import type { Session } from "../session.js"
import type { ClusterWorkloads } from "./cluster-set.js"
import { isIstio, namesIn, objectsIn, scopeOf } from "./dialect.js"
import type { InputLog, Scope } from "./inputs.js"
import { storedMeshConfig, storedNamespaces } from "./istio-cluster.js"
import { logUndiscovered } from "./istio-namespaces.js"
import { REVISION } from "./istio-sidecar.js"
import { givenSettings, type MeshSettings } from "./question-flags.js"

/** The mesh that the texts describe. `note` gets a line if it is Istio. */
export async function meshOfFiles(
  texts: readonly SourceText[],
  flags: MeshSettings,
  log: Pick<InputLog, "skip">,
  note: (text: string) => void,
): Promise<MeshConfig> {
  const { meshConfig: path } = flags
  const names = namesIn(texts, flags)
  if (!isIstio(names)) {
    if (path !== undefined) throw usageError("`--mesh-config` is Istio's; these policies are not")
    return meshConfig({ names, ...givenSettings(flags) })
  }
  const written = path === undefined ? writtenIn(texts) : await namedConfig(path)
  if (written.discoverySelectors !== undefined) logUndiscovered(written, namespacesIn(texts), log)
  return istioMesh(written, names, flags, note)
}

const namespacesIn = (texts: readonly SourceText[]): readonly Fields[] =>
  texts.flatMap(({ text }) => (text.includes("Namespace") ? objectsIn(text) : [])).filter(isNamespace)

const isNamespace = ({ kind }: Fields): boolean => kind === "Namespace"

/** The mesh of a cluster that runs Istio: from its ConfigMap, or from the file that flags name. */
export async function istioMeshOf(
  session: Session,
  flags: MeshSettings,
  log: Pick<InputLog, "skip">,
  note: (text: string) => void,
): Promise<MeshConfig> {
  const written = flags.meshConfig === undefined ? await storedIn(session, log) : await namedConfig(flags.meshConfig)
  if (written.discoverySelectors !== undefined) logUndiscovered(written, await storedNamespaces(session), log)
  return istioMesh(written, session.names, flags, note)
}

async function storedIn(session: Session, log: Pick<InputLog, "skip">): Promise<Fields> {
  const stored = await storedMeshConfig(session)
  if (typeof stored === "string") log.skip(`the mesh configuration: ${stored}; name it with \`--mesh-config\``)
  return (typeof stored === "string" ? undefined : configIn({ kind: "ConfigMap", ...stored })) ?? {}
}

function istioMesh(written: Fields, names: MeshNames, flags: MeshSettings, note: (text: string) => void): MeshConfig {
  note("these are Istio's policies, decided as Istio decides; docs/istio-policies.md lists what is not modelled")
  const { rootNamespace = names.rootNamespace, ...settings } = settingsIn(written)
  // A sidecar of Istio trusts the last address of `X-Forwarded-For` from any client.
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

/** A mesh has one configuration. Two different ones would give the same policies two meanings. */
function writtenIn(texts: readonly SourceText[]): Fields {
  const [first, ...others] = configsIn(texts)
  if (others.some(other => isOther(other, first)))
    throw invalid("the files hold different mesh configurations; name the one that counts with `--mesh-config`")
  return first?.config ?? {}
}

interface WrittenConfig {
  /** The revision of the control plane. Undefined for the default one. */
  readonly revision: string | undefined
  readonly config: Fields
}

/** Whether a document configures an Istio mesh. */
export const isMeshConfig = (value: unknown): boolean => configIn(fieldsOf(value)) !== undefined

/** The configurations of the default revision; of all revisions if it has none. */
function configsIn(texts: readonly SourceText[]): readonly WrittenConfig[] {
  const found = allConfigsIn(texts)
  const own = found.filter(({ revision }) => revision === undefined)
  return own.length > 0 ? own : found
}

function allConfigsIn(texts: readonly SourceText[]): readonly WrittenConfig[] {
  const likely = texts.filter(({ text }) => /ConfigMap|IstioOperator|sailoperator/.test(text))
  return likely.flatMap(({ text }) =>
    objectsIn(text).flatMap(object => {
      const config = configIn(object)
      const name = textOf(fieldsOf(object.metadata).name) ?? ""
      const revision = object.kind === "ConfigMap" ? /^istio-(.+)$/.exec(name)?.[1] : undefined
      return config === undefined ? [] : [{ revision, config }]
    }),
  )
}

/** Whether the settings differ. Providers are ignored: they do not change what other policies mean. */
function isOther(one: WrittenConfig, other: WrittenConfig | undefined): boolean {
  const compared = (config: Fields) => {
    return { ...settingsIn(config), declaredProviders: [], discoverySelectors: listOf(config.discoverySelectors) }
  }
  return !isDeepStrictEqual(compared(one.config), compared(other?.config ?? {}))
}

/** Logs differences between the mesh configurations of two sets. Neither alone shows what changes. */
export function logMeshChange(
  before: readonly SourceText[],
  after: readonly SourceText[],
  policies: readonly PolicyDocument[],
  log: Pick<InputLog, "skip">,
): void {
  const [was, is] = [configsIn(before)[0], configsIn(after)[0]]
  const only = was ?? is
  if (only === undefined || before.length === 0 || after.length === 0) return
  if (was === undefined || is === undefined) {
    const side = was === undefined ? "only after" : "only before"
    if (isOther(only, undefined))
      log.skip(`the mesh configuration: it is there ${side} the change; name it with \`--mesh-config\``)
    return
  }
  for (const { kind, metadata, spec } of policies) {
    if (kind !== "AuthorizationPolicy" || spec.action !== "CUSTOM") continue
    const name = spec.provider?.name
    const [one, other] = [was, is].map(({ config }) =>
      listOf(config.extensionProviders).find(provider => fieldsOf(provider).name === name),
    )
    if (isDeepStrictEqual(one, other)) continue
    const what = `AuthorizationPolicy ${metadata.namespace}/${metadata.name}`
    log.skip(
      `${what}: not modelled: the mesh configuration changes its provider \`${name}\``,
      scopeOf({ metadata, spec }),
    )
  }
}

/** Logs configurations of other revisions of Istio. They apply to Pods and Namespaces with the revision's label. */
export function logRevisions(
  texts: readonly SourceText[],
  { dialect }: MeshConfig,
  flags: MeshSettings,
  log: Pick<InputLog, "skip">,
): void {
  if (flags.meshConfig !== undefined || dialect !== "istio") return
  const [counted] = configsIn(texts)
  const all = allConfigsIn(texts)
  const others = all.filter(one => one.revision !== counted?.revision && isOther(one, counted))
  if (others.length === 0) return
  const ofNamespaces = new Map(
    namespacesIn(texts)
      .map(({ metadata }) => fieldsOf(metadata))
      .map(({ name, labels }) => [textOf(name), textsOf(labels)[REVISION]] as const),
  )
  const known = new Set(["default", ...all.map(({ revision }) => revision)])
  for (const { revision } of others) {
    if (revision === undefined) continue
    log.skip(otherRevision(revision), ({ namespace, labels }) => {
      const own = Object.hasOwn(labels, REVISION) ? labels[REVISION] : ofNamespaces.get(namespace)
      // A tag stands for a revision, and files do not say for which one.
      return own === revision || (own !== undefined && !known.has(own))
    })
  }
}

/** Logs the same for a cluster, whose Pods name the revision that configures them. */
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

/**
 * The mesh configuration in the ConfigMap `istio` or `istio-REVISION`, or in an operator's object, whose own field
 * overrides its values.
 */
function configIn({ apiVersion, kind, metadata, data, spec }: Fields): Fields | undefined {
  const isSail = kind === "Istio" && textOf(apiVersion)?.startsWith("sailoperator.io/") === true
  if (kind === "IstioOperator" || isSail) {
    const { meshConfig, values } = fieldsOf(spec)
    return { ...fieldsOf(fieldsOf(values).meshConfig), ...fieldsOf(meshConfig) }
  }
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
  for (const policy of policies) {
    const { kind, metadata, spec } = policy
    if (kind !== "AuthorizationPolicy" || spec.action !== "CUSTOM") continue
    const provider = spec.provider?.name ?? ""
    const scope: Scope = one => concerns(policy, one, mesh)
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

/** Reads a setting. An invalid one is an error: an answer under the default would be about another mesh. */
function setting<T>(name: string, value: unknown, isRight: (value: unknown) => value is T): T | undefined {
  if (value === undefined || value === null || isRight(value)) return value ?? undefined
  throw invalid(`the mesh configuration has no valid \`${name}\``)
}

const isText = (value: unknown): value is string => typeof value === "string"
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)

function normalizationOf(value: unknown): PathNormalization {
  // `DEFAULT` is Istio's name for its default.
  const found = value === "DEFAULT" ? "BASE" : PATH_NORMALIZATIONS.find(mode => mode === value)
  if (found !== undefined) return found
  const known = PATH_NORMALIZATIONS.join(", ")
  throw invalid(`the mesh configuration has the path normalization \`${String(value)}\`; known are DEFAULT, ${known}`)
}

const invalid = (message: string): CommandError => new CommandError("invalid-document", message)
