// SPDX-License-Identifier: Apache-2.0
// Objects as JSON, YAML or names: `-o json`, `-o yaml`, `-o name`.

import { type AnyObject, kindName, type Resource } from "../catalog/resource.js"
import { ofServed } from "../lookup/not-found.js"
import type { Targets } from "../lookup/targets.js"
import { formatObjects, withoutManagedFields } from "../output/objects.js"
import type { Session } from "../session.js"
import { print } from "../terminal.js"
import type { GetFlags } from "./get-flags.js"
import { listObjects, oneDocument } from "./read-list.js"

export async function getObjects(session: Session, { resources, targets }: Targets, flags: GetFlags): Promise<void> {
  const found: { readonly resource: Resource; readonly object: AnyObject }[] = []
  for (const target of targets) {
    const object = await oneDocument(session, target, flags)
    if (object !== undefined) found.push({ resource: target.resource, object })
  }
  if (targets.length === 0) {
    const lists = await ofServed(resources, async resource => {
      const { items } = await listObjects(session, resource, flags)
      return items.map(object => ({ resource, object }))
    })
    found.push(...lists.flat())
  }
  if (flags.output === "json" || flags.output === "yaml") {
    if (found.length === 0 && targets.length > 0) return
    const objects = found.map(({ object }) => (flags.showManagedFields ? object : withoutManagedFields(object)))
    print(formatObjects(flags.output, objects, targets.length === 1))
  } else if (found.length > 0) {
    print(found.map(({ resource, object }) => `${kindName(resource)}/${object.metadata.name}\n`).join(""))
  }
}
