// SPDX-License-Identifier: Apache-2.0
// A policy that is not there yet, from a template or from what another page has written.

import { type ReactNode, useMemo } from "react"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useSession } from "../../shell/session.js"
import { PolicyEditor } from "./policy-editor.js"
import { TEMPLATES } from "./templates.js"

export default function NewPolicy(): ReactNode {
  const { names } = useSession()
  const [search] = useSearchParameters()
  const template = TEMPLATES.find(({ id }) => id === search.get("template")) ?? TEMPLATES[0]
  const [namespace, given] = [search.get("namespace"), template?.text(names) ?? ""]
  const text = useMemo(
    () => (namespace === null ? given : given.replace("namespace: default", `namespace: ${namespace}`)),
    [namespace, given],
  )
  return (
    <>
      <h1>New policy: {template?.wish.toLowerCase()}</h1>
      <PolicyEditor key={text} text={text} />
    </>
  )
}
