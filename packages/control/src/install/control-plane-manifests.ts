// SPDX-License-Identifier: Apache-2.0
// All objects of an installation, as values, in the required order. The chart's templates are the same objects with
// placeholders (`scripts/generate/chart.ts`), so that both ways install the same.

import { meshNames } from "@merlon/policy/mesh"
import { canonicalJson } from "@merlon/xds/runtime"
import { injectionNames } from "../admission/injection-options.js"
import { PROXY_METRICS } from "../admission/proxy-container.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { alertManifest } from "./alerts.js"
import { authorizerManifests } from "./authorizer-manifests.js"
import { componentNames } from "./component-names.js"
import { dashboardManifest } from "./dashboards.js"
import { accessManifests, partOf } from "./manifests.js"
import type { InstallValues } from "./values.js"
import { webhookManifests } from "./webhook-manifests.js"

export interface InstalledObject {
  readonly object: KubernetesObject
  /** Installed only if the value at this path is this one. */
  readonly when?: { readonly path: string; readonly is: boolean | string }
}

const SERVICE_PORT = 443
const MESH_PORT = 15_012
const WEBHOOK_PORT = 15_017
const HEALTH_PORT = 15_014
const REPLICA_PORT = 15_013
const RUN_AS = 1337
/** Time for the endpoints of a stopping replica to be removed everywhere before it stops answering. */
const LEAVE_AFTER_MS = 5_000

export function installedObjects(values: InstallValues): readonly InstalledObject[] {
  const names = meshNames({ mesh: values.mesh, domain: values.domain })
  const { controlPlane: name } = componentNames(names)
  const { rootNamespace: namespace } = names
  const labels = { ...partOf(names), "app.kubernetes.io/name": name }
  const selector = { "app.kubernetes.io/name": name }
  const meta = { name, namespace, labels }
  const address = { service: { namespace, name, port: SERVICE_PORT } }
  return [
    ...accessManifests(names).map(({ object }) => ({ object })),
    { object: service(meta, selector) },
    { object: deployment(values, meta, selector) },
    {
      object: {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: meta,
        spec: { minAvailable: values.podDisruptionBudget.minAvailable, selector: { matchLabels: selector } },
      },
      when: { path: "podDisruptionBudget.enabled", is: true },
    },
    { object: networkPolicy(meta, selector), when: { path: "networkPolicy.enabled", is: true } },
    {
      object: {
        apiVersion: "monitoring.coreos.com/v1",
        kind: "ServiceMonitor",
        metadata: { name, namespace, labels: values.serviceMonitor.labels },
        spec: {
          selector: { matchLabels: selector },
          endpoints: [{ port: "http-metrics", interval: values.serviceMonitor.interval }],
        },
      },
      when: { path: "serviceMonitor.enabled", is: true },
    },
    {
      object: {
        apiVersion: "monitoring.coreos.com/v1",
        kind: "PodMonitor",
        metadata: { name: `${values.mesh}-proxies`, namespace, labels: values.serviceMonitor.labels },
        spec: {
          namespaceSelector: { any: true },
          selector: { matchExpressions: [{ key: injectionNames(names).captureLabel, operator: "Exists" }] },
          podMetricsEndpoints: [{ port: PROXY_METRICS, interval: values.serviceMonitor.interval }],
        },
      },
      when: { path: "serviceMonitor.enabled", is: true },
    },
    ...authorizerManifests(values, names, { host: `${name}.${namespace}.svc`, port: MESH_PORT }).map(object => ({
      object,
      when: { path: "authorizer.enabled", is: true },
    })),
    { object: alertManifest(values, namespace), when: { path: "alerts.enabled", is: true } },
    { object: dashboardManifest(values, namespace), when: { path: "dashboards.enabled", is: true } },
    // Applied last and removed first: from here on Pods of opted-in namespaces wait for us.
    ...(["redirect", "service"] as const).flatMap(capture =>
      webhookManifests({ names, address, capture }).flatMap(({ object }) => {
        if (object.kind === "MutatingWebhookConfiguration") return [{ object, when: { path: "capture", is: capture } }]
        // Validation is the same for both kinds of capture.
        return capture === "redirect" ? [{ object }] : []
      }),
    ),
  ]
}

/** The objects for these values, without those that the values disable. */
export function installManifests(values: InstallValues): readonly KubernetesObject[] {
  return installedObjects(values)
    .filter(({ when }) => when === undefined || valueAt(values, when.path) === when.is)
    .map(({ object }) => object)
}

function valueAt(values: unknown, path: string): unknown {
  return path.split(".").reduce((at, name) => (at as { readonly [name: string]: unknown })[name], values) // a known path
}

type Meta = KubernetesObject["metadata"]
type Labels = { readonly [key: string]: string }

function service(metadata: Meta, selector: Labels): KubernetesObject {
  const port = (name: string, number: number, targetPort: number) => ({
    name,
    port: number,
    targetPort,
    protocol: "TCP",
  })
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: {
      selector,
      ports: [
        port("grpc-mesh", MESH_PORT, MESH_PORT),
        port("https-webhooks", SERVICE_PORT, WEBHOOK_PORT),
        port("http-metrics", HEALTH_PORT, HEALTH_PORT),
      ],
    },
  }
}

function deployment(values: InstallValues, metadata: Meta, selector: Labels): KubernetesObject {
  const { domain } = values
  const configAnnotation = `${domain}/config`
  const providersAnnotation = `${domain}/providers`
  const fileOf = (path: string, annotation: string) => ({
    path,
    fieldRef: { fieldPath: `metadata.annotations['${annotation}']` },
  })
  const spread = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: selector },
  })
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      replicas: values.replicas,
      selector: { matchLabels: selector },
      // Never fewer replicas than before: Pods of opted-in namespaces could not start in the meantime.
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: {
          labels: { ...metadata.labels },
          // Read through the downward API. A change of them changes the template, which causes a rollout.
          annotations: {
            [configAnnotation]: canonicalJson(values.config),
            [providersAnnotation]: canonicalJson(values.providers),
          },
        },
        spec: {
          serviceAccountName: metadata.name,
          imagePullSecrets: values.imagePullSecrets,
          nodeSelector: values.nodeSelector,
          tolerations: values.tolerations,
          affinity: values.affinity,
          priorityClassName: values.priorityClassName,
          topologySpreadConstraints: [spread("kubernetes.io/hostname"), spread("topology.kubernetes.io/zone")],
          terminationGracePeriodSeconds: 45,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: RUN_AS,
            runAsGroup: RUN_AS,
            fsGroup: RUN_AS,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [container(values, metadata.name)],
          volumes: [
            {
              name: "config",
              downwardAPI: {
                items: [fileOf("config.json", configAnnotation), fileOf("providers.json", providersAnnotation)],
              },
            },
          ],
        },
      },
    },
  }
}

function container(values: InstallValues, name: string) {
  const probe = (path: string) => ({ httpGet: { path, port: HEALTH_PORT } })
  return {
    name,
    image: values.image,
    imagePullPolicy: values.imagePullPolicy,
    args: [
      "serve",
      "--config=/etc/merlon/config.json",
      "--providers=/etc/merlon/providers.json",
      `--mesh=${values.mesh}`,
      `--domain=${values.domain}`,
      `--image=${values.image}`,
      `--capture=${values.capture}`,
      `--udp=${values.udp}`,
      `--outbound=${values.outbound}`,
      `--outbound-policy=${values.outboundPolicy}`,
      `--sidecar=${values.sidecar}`,
      `--trust-domain=${values.trustDomain}`,
      `--cluster-domain=${values.clusterDomain}`,
      `--log-level=${values.logLevel}`,
      `--replica-port=${REPLICA_PORT}`,
    ],
    env: [
      { name: "MERLON_REPLICA", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "MERLON_REPLICA_ADDRESS", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "MERLON_PROXY_RESOURCES", value: canonicalJson(values.proxy.resources) },
    ],
    ports: [
      { name: "grpc-mesh", containerPort: MESH_PORT, protocol: "TCP" },
      { name: "https-webhooks", containerPort: WEBHOOK_PORT, protocol: "TCP" },
      { name: "http-metrics", containerPort: HEALTH_PORT, protocol: "TCP" },
      { name: "https-replicas", containerPort: REPLICA_PORT, protocol: "TCP" },
    ],
    readinessProbe: { ...probe("/readyz"), periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 3 },
    livenessProbe: { ...probe("/healthz"), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    lifecycle: {
      preStop: { exec: { command: ["/usr/bin/node", "-e", `setTimeout(() => undefined, ${LEAVE_AFTER_MS})`] } },
    },
    resources: values.resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [{ name: "config", mountPath: "/etc/merlon", readOnly: true }],
  }
}

function networkPolicy(metadata: Meta, selector: Labels): KubernetesObject {
  const open = (...numbers: readonly number[]) => numbers.map(port => ({ protocol: "TCP", port }))
  const ingress = [
    { ports: open(MESH_PORT, WEBHOOK_PORT, HEALTH_PORT) },
    // Queries between replicas.
    { ports: open(REPLICA_PORT), from: [{ podSelector: { matchLabels: selector } }] },
  ]
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata,
    spec: { podSelector: { matchLabels: selector }, policyTypes: ["Ingress"], ingress },
  }
}
