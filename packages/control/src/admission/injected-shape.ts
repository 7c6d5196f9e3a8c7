// SPDX-License-Identifier: Apache-2.0
// Checks that a Pod has everything that injection adds. Names prove nothing: a namespace that requires injection
// accepts a Pod only if its containers, volumes and annotations are what the injector writes, except for what the API
// server and common webhooks add to every container.

import { isDeepStrictEqual } from "node:util"
import { applicationPorts, xserverContainer } from "../registry/application-ports.js"
import { type Foreign, listOf, objectOf, textOf } from "../registry/foreign.js"
import { bypassingPrivilege } from "../registry/privileges.js"
import { type InjectionOptions, injectionNames } from "./injection-options.js"
import { outboundOf } from "./outbound-choice.js"
import {
  bootstrapDocument,
  captureContainer,
  outboundContainer,
  proxyContainer,
  proxyVolumes,
} from "./proxy-container.js"

/** Why the proxy can be bypassed or is not ours, in one phrase; undefined if the Pod is correct. */
export function injectionError(pod: unknown, options: InjectionOptions): string | undefined {
  const { names, capture, nativeSidecar } = options
  const { metadata, spec: value } = objectOf(pod)
  const { annotations, labels } = objectOf(metadata)
  const spec = objectOf(value)
  const notes = objectOf(annotations)
  const ports = applicationPorts(spec, names)
  const { annotations: keys, captureLabel, initContainer, outboundContainer: outbound } = injectionNames(names)
  const undeclared = undeclaredError(notes, options)
  if (undeclared !== undefined) return undeclared
  const privilege = bypassingPrivilege(spec, names)
  if (privilege !== undefined) return privilege
  const calls = outboundOf(notes, spec, options)
  if (typeof calls === "string") return calls
  const inits = listOf(spec.initContainers).map(objectOf)
  const containers = listOf(spec.containers).map(objectOf)
  const sidecars = nativeSidecar ? inits : containers
  const expected: readonly (readonly [from: readonly Foreign[], wanted: Foreign])[] = [
    [sidecars, proxyContainer(options, ports, calls)],
    ...(capture === "redirect" ? [[inits, captureContainer(options, ports, "refuse", calls)] as const] : []),
    ...([...inits, ...containers].some(({ name }) => name === outbound)
      ? [[sidecars, outboundContainer(options, ports)] as const]
      : []),
    ...proxyVolumes(options).map(volume => [listOf(spec.volumes).map(objectOf), volume] as const),
  ]
  for (const [from, wanted] of expected) {
    const found = from.find(({ name }) => name === wanted.name)
    if (found === undefined) return `\`${String(wanted.name)}\` is missing`
    const differs = difference(found, wanted, "")
    if (differs !== undefined)
      return `\`${String(wanted.name)}\` does not match the injected one: \`${differs}\` differs`
  }
  if (capture === "service" && inits.some(({ name }) => name === initContainer)) {
    return `\`${initContainer}\` must not be there if traffic is captured by Service`
  }
  // Connections of a sidecar that starts before the rules are in place would never be captured.
  const early = inits.findIndex(({ restartPolicy }) => restartPolicy === "Always")
  const ready = inits.findIndex(({ name }) => name === initContainer)
  if (capture === "redirect" && early !== -1 && early < ready) {
    return `the container \`${textOf(inits[early]?.name) ?? ""}\` starts before \`${initContainer}\``
  }
  const { [captureLabel]: label } = objectOf(labels)
  if (label !== capture) return `the label \`${captureLabel}\` is not \`${capture}\``
  const bootstrap = JSON.stringify(bootstrapDocument(options))
  return notes[keys.injected] === undefined || notes[keys.bootstrap] !== bootstrap
    ? `the annotation \`${keys.bootstrap}\` does not match the injected one`
    : undefined
}

/** Undeclared ports would be open, whether other ports are declared or not. */
export function undeclaredError(annotations: Foreign, { names }: InjectionOptions): string | undefined {
  const { undeclared } = injectionNames(names).annotations
  return annotations[undeclared] === "pass"
    ? `\`${undeclared}: pass\` lets connections reach it without policy checks`
    : undefined
}

/** What an update takes away from an injected Pod; undefined if the proxy is unchanged. */
export function updateError(before: unknown, after: unknown, { names }: InjectionOptions): string | undefined {
  const privilege = bypassingPrivilege(objectOf(after).spec, names)
  if (privilege !== undefined && privilege !== bypassingPrivilege(objectOf(before).spec, names)) return privilege
  const [was, is] = [before, after].map(pod => objectOf(pod))
  const { annotations: keys, captureLabel, initContainer, outboundContainer: outbound } = injectionNames(names)
  const noted = (pod: Foreign | undefined, field: string, key: string): unknown =>
    objectOf(objectOf(pod?.metadata)[field])[key]
  const fixed: readonly [field: string, key: string][] = [
    ["labels", captureLabel],
    ...[keys.injected, keys.proxy, keys.bootstrap, keys.probes, keys.undeclared, `${names.domain}/workload`].map(
      key => ["annotations", key] as [string, string],
    ),
  ]
  for (const [field, key] of fixed) {
    if (noted(was, field, key) !== noted(is, field, key)) return `\`metadata.${field}[${key}]\` cannot be changed`
  }
  const image = (pod: Foreign | undefined, name: string): unknown => {
    const { containers, initContainers } = objectOf(pod?.spec)
    return [...listOf(containers), ...listOf(initContainers)].map(objectOf).find(item => item.name === name)?.image
  }
  const changed = [xserverContainer(names), initContainer, outbound].find(name => image(was, name) !== image(is, name))
  return changed === undefined ? undefined : `the image of \`${changed}\` cannot be changed`
}

/**
 * Fields that may be present, or differ, although injection does not write them: defaults of the API server, and
 * settings of LimitRange and autoscalers. None of them changes what runs.
 */
const FREE: ReadonlySet<string> = new Set([
  "apiVersion",
  "defaultMode",
  "failureThreshold",
  "imagePullPolicy",
  "initialDelaySeconds",
  "optional",
  "periodSeconds",
  "protocol",
  "recursiveReadOnly",
  "resources",
  "scheme",
  "successThreshold",
  "terminationMessagePath",
  "terminationMessagePolicy",
  "timeoutSeconds",
])
/** Clouds add variables and tokens of the service account to every container; xserver reads neither. */
const CLOUD_VARIABLE = /^(AWS|AZURE|GOOGLE|KUBERNETES)_[A-Z0-9_]+$/
const SECRETS = "/var/run/secrets/"

/** The path at which a value differs from what injection writes; undefined if it does not. */
function difference(found: unknown, wanted: unknown, path: string): string | undefined {
  if (Array.isArray(wanted) || Array.isArray(found)) {
    const items = listOf(wanted)
    const list = listOf(found).filter(item => !isAdded(item, items, path))
    if (list.length !== items.length) return path
    return first(items, (item, at) => difference(list[at], item, `${path}[${at}]`))
  }
  if (typeof wanted !== "object" || wanted === null) return isDeepStrictEqual(found, wanted) ? undefined : path
  const fields = new Set([...Object.keys(objectOf(found)), ...Object.keys(wanted)])
  return first([...fields], field =>
    FREE.has(field)
      ? undefined
      : difference(objectOf(found)[field], objectOf(wanted)[field], path === "" ? field : `${path}.${field}`),
  )
}

/** Whether another program added this item to the list without any effect on xserver. */
function isAdded(item: unknown, wanted: readonly unknown[], path: string): boolean {
  const { name, mountPath } = objectOf(item)
  if (path === "env") return typeof name === "string" && CLOUD_VARIABLE.test(name)
  if (path !== "volumeMounts" || typeof mountPath !== "string" || !mountPath.startsWith(SECRETS)) return false
  // Fail closed: `..` could lead anywhere, and a mount inside one of ours would replace part of it.
  const ours = wanted.map(mount => textOf(objectOf(mount).mountPath) ?? "")
  return !mountPath.split("/").includes("..") && ours.every(path => !`${mountPath}/`.startsWith(`${path}/`))
}

function first<T>(items: readonly T[], of: (item: T, at: number) => string | undefined): string | undefined {
  for (const [at, item] of items.entries()) {
    const found = of(item, at)
    if (found !== undefined) return found
  }
  return undefined
}
