// SPDX-License-Identifier: Apache-2.0
// What the processes of a mesh inherit: not the settings that a person's shell holds for these very programs, which would
// change one mesh and not the next.

const OURS = /^(MERLON_|KUBECONFIG$|KUBERNETES_SERVICE_|HOST$|PORT$|VERSION$|npm_)/

export function childEnvironment(env: NodeJS.ProcessEnv, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => !OURS.test(name))), ...more }
}
