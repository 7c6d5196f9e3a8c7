// SPDX-License-Identifier: Apache-2.0
// A namespace that requires injection rejects every Pod that only looks injected, and every way to bypass the proxy.

import { expect, it, test } from "vitest"
import { admissionHandlers } from "./handlers.js"
import { injectPod } from "./inject-pod.js"
import type { InjectionOptions } from "./injection-options.js"
import type { AdmissionRequest } from "./review.js"
import { patched } from "./testing/apply-patch.js"
import { app, type Container, injected, names, OPTIONS, pod, type TestPod } from "./testing/pods.js"
import { question } from "./testing/requests.js"

const REQUIRED = { namespace: "foo", namespaceOptedIn: true, required: true }
const NATIVE = { nativeSidecar: true } as const
const CALLING = pod(
  { initContainers: [{ name: "setup" }] },
  { annotations: { "outbound.merlon.dev/proxy": "capture", "outbound.merlon.dev/exclude-ports": "5432" } },
)
const PASS = { annotations: { "inbound.merlon.dev/undeclared": "pass" } }

const rejection = (object: unknown, options: Partial<InjectionOptions> = {}): string | undefined => {
  const result = injectPod(object, REQUIRED, { ...OPTIONS, ...options })
  return result.outcome === "rejected" ? result.because : undefined
}
const changed = (object: TestPod, name: string, fields: object): TestPod => {
  const change = (list: readonly Container[] = []) =>
    list.map(item => (item.name === name ? { ...item, ...fields } : item))
  const { containers, initContainers } = object.spec
  return {
    ...object,
    spec: { ...object.spec, containers: change(containers), initContainers: change(initContainers) },
  }
}
const security = (fields: object) => app({ securityContext: fields })

/**
 * A Pod after the API server and other webhooks: defaults, the service account's token, a LimitRange, a cloud identity.
 */
const defaulted = (object: TestPod): TestPod => {
  const added = [
    { name: "kube-api-access-x", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
    { name: "aws", mountPath: "/var/run/secrets/eks.amazonaws.com/serviceaccount", readOnly: true },
  ]
  const change = (container: Container): Container => ({
    ...container,
    env: [...((container.env ?? []) as object[]), { name: "AWS_ROLE_ARN", value: "arn" }],
    volumeMounts: [...((container.volumeMounts ?? []) as object[]), ...added],
    imagePullPolicy: "IfNotPresent",
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    resources: { requests: { cpu: "10m" }, limits: { cpu: "1" } },
    ...(container.readinessProbe === undefined
      ? {}
      : { readinessProbe: { ...container.readinessProbe, successThreshold: 1 } }),
  })
  const { containers, initContainers = [] } = object.spec
  return {
    ...object,
    spec: { ...object.spec, containers: containers.map(change), initContainers: initContainers.map(change) },
  }
}

test.each<[string, TestPod, Partial<InjectionOptions>]>([
  ["a sidecar", pod(), {}],
  ["a native sidecar", pod(), NATIVE],
  ["captured by Service", pod(), { capture: "service" }],
  ["without a port", pod({ containers: [{ name: "app", image: "app" }] }), {}],
  ["with an xclient", pod({}, { annotations: { "outbound.merlon.dev/proxy": "true" } }), {}],
  ["with captured calls", CALLING, {}],
  ["with captured calls of a native sidecar", CALLING, NATIVE],
  ["with captured calls by the mesh's setting", pod({ initContainers: [{ name: "setup" }] }), { outbound: "capture" }],
  ["with calls that cannot be captured", CALLING, { capture: "service" }],
  ["with probes", pod({ containers: [app({ livenessProbe: { httpGet: { path: "/", port: 8080 } } })] }), {}],
])("accepts an injected Pod: %s", (_, before, options) => {
  expect(rejection(before, options)).toBe(undefined)
  const { after } = injected(before, options)
  expect(rejection(after, options)).toBe(undefined)
  expect(rejection(defaulted(after), options)).toBe(undefined)
})

const { after: OURS } = injected(pod())
const { after: CAPTURING } = injected(CALLING)
const captureArgs = (...args: readonly string[]) => changed(CAPTURING, "merlon-init", { args })
const OUTBOUND = ["--outbound", "15001", "--exclude-outbound-ports", "5432"]
const { after: BY_NATIVE } = injected(pod(), NATIVE)
const NAMED = { name: "merlon-xserver", image: "busybox" }
const withEnv = (value: string) => ({ env: [{ name: "NODE_OPTIONS", value }] })

test.each<[string, TestPod, string, Partial<InjectionOptions>?]>([
  ["a container that is only named like xserver", pod({ containers: [NAMED, app()] }), "`merlon-xserver`"],
  ["an init container that is only named like xserver", pod({ initContainers: [NAMED] }), "`merlon-xserver`"],
  ["a container named like xserver if the proxy should be an init container", OURS, "missing", NATIVE],
  ["another image", changed(OURS, "merlon-xserver", { image: "merlond:2" }), "`image` differs"],
  ["a command", changed(OURS, "merlon-xserver", { command: ["/bin/true"] }), "`command` differs"],
  ["other arguments", changed(OURS, "merlon-xserver", { args: ["xserver"] }), "`args` differs"],
  ["other variables", changed(OURS, "merlon-xserver", withEnv("--require /tmp/x")), "`env`"],
  ["a hook", changed(OURS, "merlon-xserver", { lifecycle: { postStart: {} } }), "`lifecycle."],
  ["another user", changed(OURS, "merlon-xserver", { securityContext: { runAsUser: 0 } }), "`securityContext."],
  [
    "a file over the program",
    changed(OURS, "merlon-xserver", { volumeMounts: [{ name: "x", mountPath: "/usr/bin" }] }),
    "`volumeMounts` differs",
  ],
  ["other volumes", { ...OURS, spec: { ...OURS.spec, volumes: [] } }, "`merlon-credentials`"],
  ["a missing capture container", { ...OURS, spec: { ...OURS.spec, initContainers: [] } }, "`merlon-init` is missing"],
  ["a capture of other ports", changed(OURS, "merlon-init", { args: ["capture", "--map", ""] }), "`args[2]` differs"],
  [
    "captured calls that leave out inbound ports",
    captureArgs("capture", "--map", "", ...OUTBOUND),
    "`merlon-init` does not match the injected one: `args[2]` differs",
  ],
  [
    "captured calls that open undeclared ports",
    captureArgs("capture", "--map", "8080:15080", "--undeclared", "pass", ...OUTBOUND),
    "`merlon-init` does not match the injected one: `args` differs",
  ],
  [
    "captured calls with a second map",
    captureArgs("capture", "--map", "8080:15080", ...OUTBOUND, "--map", ""),
    "`args` differs",
  ],
  [
    "a capture without the calls that the Pod requests",
    captureArgs("capture", "--map", "8080:15080"),
    "`args` differs",
  ],
  [
    "a proxy for inbound only although calls are captured",
    changed(CAPTURING, "merlon-xserver", { args: OURS.spec.containers[0]?.args }),
    "`merlon-xserver` does not match the injected one",
  ],
  [
    "captured calls that the Pod does not request",
    { ...CAPTURING, metadata: { ...CAPTURING.metadata, annotations: OURS.metadata.annotations ?? {} } },
    "does not match the injected one",
  ],
  [
    "a broken limit of captured calls",
    {
      ...CAPTURING,
      metadata: {
        ...CAPTURING.metadata,
        annotations: { ...CAPTURING.metadata.annotations, "outbound.merlon.dev/exclude-ports": "--map" },
      },
    },
    "`--map` is not a port",
  ],
  [
    "a native sidecar before a capture that comes last",
    {
      ...CAPTURING,
      spec: {
        ...CAPTURING.spec,
        initContainers: [
          app({ name: "early", ports: [], restartPolicy: "Always" }),
          ...(CAPTURING.spec.initContainers ?? []),
        ],
      },
    },
    "does not match the injected one",
  ],
  ["a capture by another program", changed(OURS, "merlon-init", { image: "busybox" }), "`image` differs"],
  [
    "another bootstrap",
    {
      ...OURS,
      metadata: { ...OURS.metadata, annotations: { "merlon.dev/injected": "2", "merlon.dev/bootstrap": "{}" } },
    },
    "`merlon.dev/bootstrap`",
  ],
  [
    "a missing label for the NetworkPolicy",
    { ...OURS, metadata: { ...OURS.metadata, labels: {} } },
    "`merlon.dev/capture`",
  ],
  [
    "a sidecar before the capture",
    {
      ...BY_NATIVE,
      spec: {
        ...BY_NATIVE.spec,
        initContainers: [
          app({ name: "early", ports: [], restartPolicy: "Always" }),
          ...(BY_NATIVE.spec.initContainers ?? []),
        ],
      },
    },
    "`early` starts before",
    NATIVE,
  ],
  ["the annotation that opens undeclared ports", pod({}, PASS), "undeclared: pass`"],
  ["the same without any port", pod({ containers: [{ name: "app" }] }, PASS), "undeclared: pass`"],
  ["the same on a Pod that was injected", injected(pod({}, PASS)).after, "undeclared: pass`"],
  ["a privileged container", pod({ containers: [security({ privileged: true })] }), "`app` is privileged"],
  ["NET_ADMIN", pod({ containers: [security({ capabilities: { add: ["NET_ADMIN"] } })] }), "capability NET_ADMIN"],
  ["CAP_NET_ADMIN", pod({ containers: [security({ capabilities: { add: ["CAP_NET_ADMIN"] } })] }), "NET_ADMIN"],
  ["ALL", pod({ containers: [security({ capabilities: { add: ["ALL"] } })] }), "capability ALL"],
  [
    "NET_ADMIN of an init container",
    pod({ initContainers: [{ ...security({ capabilities: { add: ["NET_ADMIN"] } }), name: "setup" }] }),
    "`setup` has the capability",
  ],
  [
    "NET_ADMIN of a long-running container named like the capture container",
    { ...OURS, spec: { ...OURS.spec, containers: [...OURS.spec.containers, OURS.spec.initContainers?.[0] ?? app()] } },
    "`merlon-init` has the capability",
  ],
  ["xserver's user", pod({ containers: [security({ runAsUser: 1337 })] }), "runs as xserver's user"],
  ["xserver's user for all containers", pod({ securityContext: { runAsUser: 1337 } }), "runs as xserver's user"],
  ["the node's network", pod({ hostNetwork: true }), "`hostNetwork`"],
])("rejects %s", (_, object, because, options) => {
  expect(rejection(object, options)).toContain(because)
})

it("accepts such Pods in other namespaces", () => {
  const place = { namespace: "foo", namespaceOptedIn: true }
  expect(injectPod(pod({ containers: [NAMED, app()] }), place, OPTIONS).outcome).toBe("skipped")
  const privileged = injectPod(pod({ containers: [security({ privileged: true })] }), place, OPTIONS)
  expect(privileged.outcome).toBe("injected")
})

const HANDLERS = admissionHandlers({
  mesh: { names } as never, // no policy is validated here
  clusterDomain: "cluster.local",
  injection: OPTIONS,
  namespaceLabels: () => ({ "merlon-injection": "required" }),
  portsBehind: () => undefined,
})
const asked = async (object: TestPod, request: Partial<AdmissionRequest> = {}): Promise<string | undefined> => {
  const answer = await HANDLERS.get("/validate/pods")?.(question(object, request))
  return answer?.rejected?.message
}

it("checks a new Pod again after all other webhooks", async () => {
  expect(await asked(OURS)).toBe(undefined)
  expect(await asked(changed(OURS, "merlon-xserver", { image: "busybox" }))).toContain("`image` differs")
  expect(await asked(pod())).toContain("`merlon-xserver`")
})

const noted = (fields: object): TestPod => ({ ...OURS, metadata: { ...OURS.metadata, ...fields } })
const debugging = (securityContext: object): TestPod => ({
  ...OURS,
  spec: { ...OURS.spec, ephemeralContainers: [{ name: "debug", securityContext }] },
})

test.each<[string, TestPod, string | undefined]>([
  ["its application's image", changed(OURS, "app", { image: "app:2" }), undefined],
  ["a label", noted({ labels: { ...OURS.metadata.labels, a: "b" } }), undefined],
  ["its xserver's image", changed(OURS, "merlon-xserver", { image: "busybox" }), "the image of `merlon-xserver`"],
  [
    "the mesh that its xserver joins",
    noted({ annotations: { ...OURS.metadata.annotations, "merlon.dev/bootstrap": "{}" } }),
    "bootstrap]`",
  ],
  ["the label that the NetworkPolicy selects", noted({ labels: {} }), "merlon.dev/capture]`"],
  ["a debug container", debugging({}), undefined],
  [
    "a debug container with NET_ADMIN",
    debugging({ capabilities: { add: ["NET_ADMIN"] } }),
    "`debug` has the capability",
  ],
  ["a privileged debug container", debugging({ privileged: true }), "`debug` is privileged"],
])("validates a change of %s on a running Pod", async (_, object, because) => {
  const subresource = object.spec.ephemeralContainers === undefined ? "" : "ephemeralcontainers"
  const message = await asked(object, { operation: "UPDATE", oldObject: OURS, subresource })
  if (because === undefined) expect(message).toBe(undefined)
  else expect(message).toContain(because)
})

it("accepts an update of a Pod that is older than the requirement", async () => {
  const old = pod({ containers: [security({ privileged: true })] })
  expect(await asked(changed(old, "app", { image: "app:2" }), { operation: "UPDATE", oldObject: old })).toBe(undefined)
})

it("accepts an update of a Pod with an older template than the control plane", async () => {
  const old = injected(pod(), { image: "merlond:0" }).after
  const updated = patched(old, [{ op: "add", path: "/metadata/finalizers", value: [] }])
  expect(await asked(updated, { operation: "UPDATE", oldObject: old })).toBe(undefined)
})
