// SPDX-License-Identifier: Apache-2.0
// Finds the workload of a local mesh by its name or an unambiguous prefix.

import { CommandError } from "../../ctl/exit.js"
import type { WorkloadRecord } from "../record/mesh-record.js"

export function workloadNamed(
  workloads: readonly WorkloadRecord[],
  word: string,
  namespace: string | undefined,
): WorkloadRecord {
  const here = workloads.filter(workload => namespace === undefined || workload.namespace === namespace)
  const exact = here.filter(({ name }) => name === word)
  const [found, ...others] = exact.length > 0 ? exact : here.filter(({ name }) => word !== "" && name.startsWith(word))
  if (found !== undefined && others.length === 0) return found
  const listed = (found === undefined ? workloads : [found, ...others])
    .map(({ namespace: place, name }) => `${name} in ${place}`)
    .join(", ")
  const where = namespace === undefined ? "" : ` in \`${namespace}\``
  throw new CommandError(
    "not-found",
    found === undefined
      ? `workload \`${word}\` not found${where}; ${listed === "" ? "the mesh runs without samples" : `there are ${listed}`}`
      : `\`${word}\` may be ${listed}; say which`,
  )
}
