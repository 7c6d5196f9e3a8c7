// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { behaviourOf } from "./by-kind.js"

it.each([
  ["apps", "Deployment", "it makes no Pods"],
  ["networking.k8s.io", "NetworkPolicy", "it restricts no traffic"],
  ["admissionregistration.k8s.io", "MutatingAdmissionPolicy", "it changes no object"],
  ["admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "it changes no object"],
])("warns that nothing acts on a %s %s", (group, kind, consequence) => {
  const warned: string[] = []
  behaviourOf(group, kind).advise?.(
    { kind, metadata: { name: "a" } },
    { warn: (text: string) => void warned.push(text) },
  )
  expect(warned).toEqual([
    expect.stringContaining(`${kind} "a" is stored, but nothing in this cluster acts on it: ${consequence}`),
  ])
})
