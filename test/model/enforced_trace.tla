--------------------------- MODULE enforced_trace ---------------------------
(* SPDX-License-Identifier: Apache-2.0                                     *)
(* Checks whether the observations of a test in a real mesh are a behavior *)
(* of the model. The test observes changes, statuses and judged requests,  *)
(* and it kills and starts processes. All other steps are unobserved, in   *)
(* any order that the model allows. TLC violates `NotExplained` if there   *)
(* is such a behavior.                                                     *)
EXTENDS enforced, Sequences

CONSTANT Trace
VARIABLE at \* the next observation

Event == Trace[at]
Stay == UNCHANGED vars

Observed ==
  /\ at <= Len(Trace) /\ at' = at + 1
  /\ CASE Event.kind = "changed" -> Change /\ stored' = Event.generation
       [] Event.kind = "enforced" -> Stay /\ status.true /\ status.generation = Event.generation
       [] Event.kind = "judged" -> Stay /\ \E p \in Proxies, w \in Workers : worker[p][w] = Event.generation
       [] Event.kind = "control plane killed" -> \E r \in Replicas : ReplicaCrashes(r)
       [] Event.kind = "control plane started" -> \E r \in Replicas : ReplicaStarts(r)
       [] Event.kind = "proxy killed" -> \E p \in Proxies : ProxyCrashes(p)
       [] Event.kind = "proxy started" -> \E p \in Proxies : ProxyStarts(p)

\* A killed process starts only when the test starts it.
Unseen ==
  /\ at' = at /\ Progress
  /\ \A r \in Replicas : up'[r] = up[r]
  /\ \A p \in Proxies : runs'[p] = runs[p]

TraceSpec == Init /\ at = 1 /\ [][Observed \/ Unseen]_<<vars, at>>

NotExplained == at <= Len(Trace)
=============================================================================
