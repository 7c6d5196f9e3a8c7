// SPDX-License-Identifier: Apache-2.0
// A new policy from a template, filled in with an existing namespace and label.

import { type ReactNode, useMemo, useState } from "react"
import type { Pod } from "../../api/objects.js"
import { usePods, useTrustDomain } from "../../api/queries.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useNamespace } from "../../shell/namespace.js"
import { useSession } from "../../shell/session.js"
import { PageHead } from "../../ui/card.js"
import { Skeleton } from "../../ui/loaded.js"
import { PolicyEditor } from "./policy-editor.js"
import { fitted, TEMPLATES } from "./templates.js"

export default function NewPolicy(): ReactNode {
  const trustDomain = useTrustDomain()
  const pods = usePods()
  // Waits for both, since the text must not change while the user edits it.
  if (trustDomain === undefined || pods.isPending) return <Skeleton />
  return <Beginning trustDomain={trustDomain} pods={pods.data ?? []} />
}

interface BeginningProps {
  readonly trustDomain: string
  readonly pods: readonly Pod[]
}

function Beginning(first: BeginningProps): ReactNode {
  const { names } = useSession()
  const [{ trustDomain, pods }] = useState(first)
  const [search] = useSearchParameters()
  const filter = useNamespace()
  const template = TEMPLATES.find(({ id }) => id === search.get("template")) ?? TEMPLATES[0]
  const namespace = search.get("namespace") ?? filter
  const given = template?.text(names, trustDomain) ?? ""
  const text = useMemo(() => fitted(given, pods, namespace), [given, pods, namespace])
  const title = template?.title.replace(/^[A-Z](?![A-Z])/, letter => letter.toLowerCase())
  return (
    <>
      <PageHead title={`New policy: ${title}`} />
      <PolicyEditor key={text} text={text} />
    </>
  )
}
