// SPDX-License-Identifier: Apache-2.0
// Generates the Helm chart from the same objects that `merlonctl install` applies, with a placeholder for every value.
// The files are committed, and a test fails if they differ from this output.

import {
  defaultValues,
  definitionManifests,
  type InstalledObject,
  type InstallValues,
  installedObjects,
  valueTable,
} from "@merlon/control/install"
import type { KubernetesObject } from "@merlon/control/kubernetes"
import { meshNames } from "@merlon/policy"
import { stringify } from "yaml"

const CHART = "deploy/helm/merlon"
/** These two are parts of other names, which are validated, so their placeholders are words that pass validation. */
const WORDS: readonly (readonly [word: string, path: string])[] = [
  ["zzdomainzz.zz", "domain"],
  ["zzmeshzz", "mesh"],
]
const PLACE = /⟦([\w.]+)⟧/g
const STYLE = { lineWidth: 0, aliasDuplicateObjects: false } as const

export function chartFiles(version: string): ReadonlyMap<string, string> {
  const objects = installedObjects(openValues(version))
    // Helm creates the namespace, or uses an existing one.
    .filter(({ object }) => object.kind !== "Namespace")
  const files = new Map<string, string>([
    [`${CHART}/Chart.yaml`, chartYaml(version)],
    [`${CHART}/values.yaml`, valuesYaml(version)],
    [`${CHART}/values.schema.json`, `${JSON.stringify(valuesSchema(version), null, 2)}\n`],
    [`${CHART}/templates/guard.yaml`, GUARD],
    [`${CHART}/templates/post-delete.yaml`, `${GENERATED}${postDelete()}`],
    [`${CHART}/templates/NOTES.txt`, NOTES],
  ])
  for (const [name, group] of byKind(objects)) {
    files.set(`${CHART}/templates/${name}.yaml`, `${GENERATED}${group.map(template).join("---\n")}`)
  }
  for (const { object } of definitionManifests(meshNames())) {
    const [plural] = object.metadata.name.split(".")
    files.set(`${CHART}/crds/${plural}.yaml`, `${GENERATED}${stringify(object, STYLE)}`)
  }
  return files
}

const GENERATED = "# Written by `npm run generate`.\n"

/** The namespace follows from the mesh's name; in another one the control plane would not be found. */
const GUARD = `{{- $wanted := printf "%s-system" .Values.mesh -}}
{{- if ne .Release.Namespace $wanted -}}
{{- fail (printf "install into the namespace \`%s\`: helm install ... -n %s --create-namespace" $wanted $wanted) -}}
{{- end -}}
`

/**
 * A job that runs after everything else is gone. Capture pointed Services at xserver, which later Pods do not have. The
 * control plane cannot revert that: it is gone by then, and while it runs it would capture the Services again.
 */
function postDelete(): string {
  const name = "{{ .Values.mesh }}-post-delete"
  const metadata = (weight: number) => ({
    name,
    namespace: "{{ .Release.Namespace }}",
    labels: { "app.kubernetes.io/part-of": "{{ .Values.mesh }}" },
    annotations: {
      "helm.sh/hook": "post-delete",
      "helm.sh/hook-weight": String(weight),
      "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
    },
  })
  const clusterWide = (weight: number) => ({ ...metadata(weight), namespace: undefined })
  const rbac = "rbac.authorization.k8s.io"
  const container = {
    name: "merlonctl",
    image: "⟦image⟧",
    imagePullPolicy: "⟦imagePullPolicy⟧",
    command: ["/usr/local/bin/merlonctl", "uninstall", "--services"],
    args: ["--mesh={{ .Values.mesh }}", "--domain={{ .Values.domain }}"],
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
  }
  const podSpec = {
    serviceAccountName: name,
    imagePullSecrets: "⟦imagePullSecrets⟧",
    nodeSelector: "⟦nodeSelector⟧",
    tolerations: "⟦tolerations⟧",
    restartPolicy: "Never",
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [container],
  }
  const objects = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(-2) },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: clusterWide(-2),
      rules: [
        { apiGroups: [""], resources: ["services"], verbs: ["list", "patch"] },
        { apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["{{ .Values.mesh }}d"], verbs: ["get"] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: clusterWide(-1),
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: "{{ .Release.Namespace }}" }],
    },
    {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: metadata(0),
      // If it is applied as a plain object, it finds the control plane, does nothing, and is deleted.
      spec: { backoffLimit: 3, activeDeadlineSeconds: 120, ttlSecondsAfterFinished: 60, template: { spec: podSpec } },
    },
  ]
  return objects.map(object => filled(stringify(object, STYLE))).join("---\n")
}

const NOTES = `{{ .Values.mesh }} {{ .Chart.AppVersion }} runs in {{ .Release.Namespace }}.

Put a namespace into the mesh and start its Pods again:
  kubectl label namespace NAME {{ .Values.mesh }}-injection=enabled
  kubectl rollout restart deployment -n NAME

Policies stay when the chart is uninstalled; \`kubectl delete crd -l app.kubernetes.io/part-of={{ .Values.mesh }}\` removes
them and their kinds.
`

function chartYaml(version: string): string {
  return stringify({
    apiVersion: "v2",
    name: "merlon",
    description: "Mesh security policy: declare it, explain it, test it, prove it enforced",
    type: "application",
    version,
    appVersion: version,
    kubeVersion: ">=1.25.0-0",
  })
}

/** Helm parses YAML 1.1, where `off` is a boolean: such words need quotes. */
const YAML_1_1 = { ...STYLE, version: "1.1" } as const

function valuesYaml(version: string): string {
  const defaults = defaultValues(version)
  const about = new Map(valueTable(version).map(entry => [entry.path, entry.about]))
  const lines = Object.entries(defaults).flatMap(([name, value]) => {
    const own = about.get(name)
    if (own !== undefined) return [`# ${own}`, stringify({ [name]: value }, YAML_1_1).trimEnd(), ""]
    const inner = Object.entries(value as object).flatMap(([field, item]) => [
      `  # ${about.get(`${name}.${field}`)}`,
      ...stringify({ [field]: item }, YAML_1_1)
        .trimEnd()
        .split("\n")
        .map(line => `  ${line}`),
    ])
    return [`${name}:`, ...inner, ""]
  })
  return `${GENERATED}${lines.join("\n")}`
}

function valuesSchema(version: string): object {
  type Node = { type: string; additionalProperties: boolean; properties: Record<string, unknown> }
  const folder = (): Node => ({ type: "object", additionalProperties: false, properties: {} })
  const root = folder()
  for (const { path, about, schema } of valueTable(version)) {
    const [first = "", second] = path.split(".")
    if (second === undefined) {
      root.properties[first] = { ...schema, description: about }
      continue
    }
    root.properties[first] ??= folder()
    const inner = root.properties[first] as Node // created by the line above
    inner.properties[second] = { ...schema, description: about }
  }
  // Added by Helm itself.
  root.properties.global = { type: "object" }
  return { $schema: "http://json-schema.org/draft-07/schema#", ...root }
}

/** Install values in which every value is a placeholder. */
function openValues(version: string): InstallValues {
  const tree: Record<string, unknown> = {}
  for (const { path } of valueTable(version)) {
    const [first = "", second] = path.split(".")
    const place = WORDS.find(([, of]) => of === path)?.[0] ?? `⟦${path}⟧`
    if (second === undefined) tree[first] = place
    else tree[first] = { ...(tree[first] as object | undefined), [second]: place }
  }
  return tree as unknown as InstallValues // the same shape, with text for each value
}

function byKind(objects: readonly InstalledObject[]): ReadonlyMap<string, readonly InstalledObject[]> {
  const groups = new Map<string, InstalledObject[]>()
  for (const one of objects) {
    const name = fileOf(one.object)
    groups.set(name, [...(groups.get(name) ?? []), one])
  }
  return groups
}

function fileOf({ apiVersion, kind }: KubernetesObject): string {
  if (apiVersion.startsWith("rbac.") || kind === "ServiceAccount") return "access"
  if (apiVersion.startsWith("admissionregistration.")) return "webhooks"
  if (kind === "ConfigMap") return "dashboards"
  return kind.toLowerCase()
}

function template({ object, when }: InstalledObject): string {
  const body = filled(stringify(escaped(object), STYLE))
  if (when === undefined) return body
  const condition = when.is === true ? `.Values.${when.path}` : `eq .Values.${when.path} ${JSON.stringify(when.is)}`
  return `{{- if ${condition} }}\n${body}{{- end }}\n`
}

/** Escapes braces that are not Helm's. */
function escaped(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("{{", '{{"{{"}}')
  if (Array.isArray(value)) return value.map(escaped)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escaped(item)]))
}

/** If the value is empty: the control plane's namespace. */
const AUTHORIZER_NAMESPACE = "{{ .Values.authorizer.namespace | default .Release.Namespace }}"

function filled(yaml: string): string {
  // In names of metrics, which cannot contain dashes.
  const counted = yaml.replaceAll(/zzmeshzz(?=_(?:control|xserver)_)/g, '{{ .Values.mesh | replace "-" "_" }}')
  const named = WORDS.reduce((text, [word, path]) => text.replaceAll(word, `{{ .Values.${path} }}`), counted)
  return named
    .replaceAll("⟦authorizer.namespace⟧", AUTHORIZER_NAMESPACE)
    .split("\n")
    .map(line =>
      line
        // A complete value, as JSON, which is valid YAML.
        .replace(/(^|: |- )⟦([\w.]+)⟧$/, (_, before, path) => `${before}{{ toJson .Values.${path} }}`)
        // A value inside JSON text.
        .replace(/'?"⟦([\w.]+)⟧"'?$/, (_, path) => `{{ toJson .Values.${path} | toJson }}`)
        .replace(PLACE, (_, path) => `{{ .Values.${path} }}`),
    )
    .join("\n")
}
