------------------------------ MODULE enforced ------------------------------
(***************************************************************************)
(* SPDX-License-Identifier: Apache-2.0                                     *)
(* The guarantee of the condition `Enforced` of one policy, and the        *)
(* protocol that must provide it: replicas of the control plane, the       *)
(* Lease, streams, acknowledgements, disconnects, restarts, proxies with   *)
(* several workers, and workloads that start and stop.                     *)
(*                                                                         *)
(* Each action names the function that it models. Where the model allows   *)
(* more than the code does, a comment says so: a property of the model     *)
(* then holds for the code too. docs/how-it-is-tested.md lists what TLC    *)
(* found.                                                                  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Proxies, Workers, Replicas,
  MaxGeneration, \* the number of changes of the policy, plus one
  MaxSessions,   \* the maximum number of streams of one proxy, including stale ones
  Faults,        \* the maximum number of disconnects, crashes, dead workers and rejections, in total
  Moves,         \* the maximum number of removed workloads and new leaders, in total
  VersionOfContent, \* the version does not depend on the generation, as for labels, annotations and keys
  \* Bugs that TLC must find. All are FALSE in the code.
  AckBeforeSwap,        \* a proxy acknowledges what it received before its workers enforce it
  AckAfterOneWorker,    \* ... when the first of its workers enforces it
  AckBeforeKeep,        \* ... before it is on disk
  RespawnWithOld,       \* a new worker gets the last acknowledged configuration, not the wanted one
  AnyAckCounts,         \* an acknowledgement counts for what the replica would send at that moment
  SentIgnored,          \* an acknowledgement counts although something else has been sent since (fixed in the code)
  DisconnectedIgnored,  \* the status does not wait for proxies that are not connected
  ServesLagging,        \* a replica serves a proxy that has a newer configuration than the replica (fixed in the code)
  OldPodCounts,         \* the stream of a deleted Pod counts for a new Pod of the same name (fixed in the code)
  OldReportCounts       \* ... when another replica reports it (fixed in the code)

NONE == 0 \* no generation: a worker that rejects everything, nothing sent, nothing acknowledged
Generations == 1..MaxGeneration

VARIABLES
  stored,   \* the generation in the API server
  seen,     \* per replica: the generation in its cache, which it sends and expects to be acknowledged
  up,       \* per replica: whether it runs
  leader,   \* the holder of the Lease
  report,   \* per replica: what it has reported about its proxies to the others
  pending,  \* per replica: the status that it has computed but not written yet
  status,   \* the condition in the API server
  sessions, \* the streams of all replicas, including stale ones
  stream,   \* per proxy: its open stream, or NONE
  workload, \* per proxy: "gone", "new" (declared, not started) or "started"
  pod,      \* per proxy: the number of earlier Pods of the same name
  runs,     \* per proxy: whether its process is running
  worker,   \* per proxy and worker: the generation with which it evaluates new requests
  wanted,   \* per proxy: the generation that its workers should enforce
  held,     \* per proxy: the generation that all of its workers enforce and that it acknowledges
  kept,     \* per proxy: the generation on its disk
  taking,   \* per proxy: the response that it is applying, its stream, and the running workers that were asked to apply it
  faults, moves

vars == <<stored, seen, up, leader, report, pending, status, sessions, stream,
          workload, pod, runs, worker, wanted, held, kept, taking, faults, moves>>
control == <<seen, up, leader, report, pending, status>>
proxy == <<pod, runs, worker, wanted, held, kept, taking>>

\* control/src/status/expected-versions.ts: the wire document has uid and generation, so no two generations
\* share a version. Content without a generation has its old version again when it is changed back.
Version(g) == IF g = NONE THEN NONE ELSE IF VersionOfContent THEN 2 - (g % 2) ELSE g

NoStatus == [true |-> FALSE, generation |-> NONE, covers |-> {}]
NotTaking == [generation |-> NONE, session |-> NONE, asked |-> {}]
NoReport == [p \in Proxies |-> {}]

Init ==
  /\ stored = 1 /\ seen = [r \in Replicas |-> 1] /\ up = [r \in Replicas |-> TRUE]
  /\ leader \in Replicas
  /\ report = [r \in Replicas |-> NoReport]
  /\ pending = [r \in Replicas |-> NoStatus]
  /\ status = NoStatus
  /\ sessions = {} /\ stream = [p \in Proxies |-> NONE]
  /\ workload = [p \in Proxies |-> "new"] /\ pod = [p \in Proxies |-> 0]
  /\ runs = [p \in Proxies |-> TRUE]
  /\ worker = [p \in Proxies |-> [w \in Workers |-> NONE]]
  /\ wanted = [p \in Proxies |-> NONE] /\ held = [p \in Proxies |-> NONE] /\ kept = [p \in Proxies |-> NONE]
  /\ taking = [p \in Proxies |-> NotTaking]
  /\ faults = 0 /\ moves = 0

SessionsOf(r, p) == {s \in sessions : s.replica = r /\ s.proxy = p}
Replace(s, t) == sessions' = (sessions \ {s}) \cup {t}
Fault == faults < Faults /\ faults' = faults + 1 /\ UNCHANGED moves
Move == moves < Moves /\ moves' = moves + 1 /\ UNCHANGED faults
Quiet == UNCHANGED <<faults, moves>>

------------------------------------------------------------------------------
(* The API server and its watches *)

\* A user changes the policy.
Change ==
  /\ stored < MaxGeneration /\ stored' = stored + 1
  /\ Quiet /\ UNCHANGED <<control, sessions, stream, workload, proxy>>

\* control/src/kubernetes/reflector-loop.ts. Views follow within 5 ms (`snapshot/pending-changes.ts`). One
\* variable represents both, because a status that expects a newer generation than the views send only counts fewer
\* proxies. A watch may skip generations.
Watch(r) ==
  /\ up[r] /\ seen[r] < stored
  /\ \E g \in (seen[r] + 1)..stored : seen' = [seen EXCEPT ![r] = g]
  /\ Quiet /\ UNCHANGED <<stored, up, leader, report, pending, status, sessions, stream, workload, proxy>>

------------------------------------------------------------------------------
(* Streams *)

\* control/src/distribution/distribution.ts and xds/src/server/serve-stream.ts: `open`. A proxy sends the versions
\* that it has. proxy-watch.ts: if they differ from those that the replica would send, one of the two is behind.
Connect(p, r) ==
  /\ runs[p] /\ workload[p] # "gone" /\ up[r] /\ stream[p] = NONE
  /\ Cardinality({s \in sessions : s.proxy = p}) < MaxSessions
  /\ LET free == CHOOSE n \in 1..(MaxSessions + 1) : \A s \in sessions : s.proxy = p => s.number # n
     IN /\ sessions' = sessions \cup {[replica |-> r, proxy |-> p, number |-> free, pod |-> pod[p],
                                       fresh |-> ServesLagging \/ held[p] = NONE \/ Version(held[p]) = Version(seen[r]),
                                       first |-> TRUE, sent |-> NONE,
                                       down |-> NONE, answer |-> NONE, acked |-> NONE, rejected |-> NONE]}
        /\ stream' = [stream EXCEPT ![p] = free]
  /\ Quiet /\ UNCHANGED <<stored, control, workload, proxy>>

\* control/src/kubernetes/fresh-read.ts: the replica reads the stored policies before it sends what it has held back.
ReadAnew(r) ==
  /\ up[r] /\ \E s \in sessions : s.replica = r /\ ~s.fresh
  /\ seen' = [seen EXCEPT ![r] = stored]
  /\ sessions' = {IF s.replica = r THEN [s EXCEPT !.fresh = TRUE] ELSE s : s \in sessions}
  /\ Quiet /\ UNCHANGED <<stored, up, leader, report, pending, status, stream, workload, proxy>>

\* xds/src/server/delta-session.ts: `next` and `#respond`. One response is in flight at a time. The first one is sent
\* even if the client has everything. A rejected configuration is not sent again until it changes. An overdue response
\* is sent again; `delta-session.exhaustive.test.ts` explores that, this model does not.
Send(s) ==
  /\ up[s.replica] /\ s.fresh /\ s.sent = NONE
  /\ s.first \/ Version(seen[s.replica]) # Version(s.acked)
  /\ s.rejected # seen[s.replica]
  /\ Replace(s, [s EXCEPT !.first = FALSE, !.sent = seen[s.replica], !.down = seen[s.replica]])
  /\ Quiet /\ UNCHANGED <<stored, control, stream, workload, proxy>>

\* Workers that can apply a configuration: all of them wait for the first one.
Running(p) == {w \in Workers : worker[p][w] # NONE \/ wanted[p] = NONE}

\* xserver/src/mesh/mesh-source.ts: `apply`, one change at a time. xserver/src/process/worker-pool.ts: `apply`
\* sets the wanted configuration before it asks the first worker.
Receive(s) ==
  LET p == s.proxy IN
  /\ runs[p] /\ stream[p] = s.number /\ s.down # NONE /\ taking[p] = NotTaking
  /\ taking' = [taking EXCEPT ![p] = [generation |-> s.down, session |-> s.number, asked |-> Running(p)]]
  /\ wanted' = [wanted EXCEPT ![p] = s.down]
  /\ Replace(s, [s EXCEPT !.down = NONE, !.answer = IF AckBeforeSwap THEN s.down ELSE NONE])
  /\ Quiet /\ UNCHANGED <<stored, control, stream, workload, pod, runs, worker, held, kept>>

\* xserver/src/enforcement/gate.ts: `swap`, in one worker.
Swap(p, w) ==
  /\ runs[p] /\ w \in taking[p].asked /\ worker[p][w] # taking[p].generation
  /\ worker' = [worker EXCEPT ![p][w] = taking[p].generation]
  /\ Quiet /\ UNCHANGED <<stored, control, sessions, stream, workload, pod, runs, wanted, held, kept, taking>>

\* worker-pool.ts: `#enforce` has the response of every asked worker that is still running, and of at least one.
AllSwapped(p) ==
  LET done == {w \in taking[p].asked : worker[p][w] = taking[p].generation} IN
  /\ taking[p] # NotTaking /\ done # {}
  /\ AckAfterOneWorker \/ done = taking[p].asked

\* worker-pool.ts: `#enforce`, another attempt after all asked workers have died.
AskAgain(p) ==
  /\ taking[p] # NotTaking /\ taking[p].asked = {} /\ \E w \in Workers : worker[p][w] # NONE
  /\ taking' = [taking EXCEPT ![p].asked = {w \in Workers : worker[p][w] # NONE}]
  /\ Quiet /\ UNCHANGED <<stored, control, sessions, stream, workload, pod, runs, worker, wanted, held, kept>>

\* mesh-source.ts: `#take`. A configuration is enforced, then written to disk, and only then acknowledged.
Keep(p) ==
  /\ runs[p] /\ AllSwapped(p) /\ (held[p] # taking[p].generation \/ kept[p] # taking[p].generation)
  /\ held' = [held EXCEPT ![p] = taking[p].generation]
  /\ kept' = [kept EXCEPT ![p] = taking[p].generation]
  /\ Quiet /\ UNCHANGED <<stored, control, sessions, stream, workload, pod, runs, worker, wanted, taking>>

\* xds/src/client: the acknowledgement is sent on the stream of the response, if that is still open.
Acknowledge(p) ==
  /\ runs[p] /\ AllSwapped(p)
  /\ AckBeforeKeep \/ kept[p] = taking[p].generation
  /\ LET mine == {s \in sessions : s.proxy = p /\ s.number = taking[p].session /\ stream[p] = s.number}
     IN sessions' = (sessions \ mine) \cup {[s EXCEPT !.answer = taking[p].generation] : s \in mine}
  /\ held' = [held EXCEPT ![p] = taking[p].generation]
  /\ taking' = [taking EXCEPT ![p] = NotTaking]
  /\ Quiet /\ UNCHANGED <<stored, control, stream, workload, pod, runs, worker, wanted, kept>>

\* worker-pool.ts: a worker cannot apply it, so all workers return to the earlier one. mesh-source.ts: rejected as a whole.
Reject(p) ==
  /\ runs[p] /\ taking[p] # NotTaking /\ taking[p].generation # held[p] /\ Fault
  /\ worker' = [worker EXCEPT ![p] = [w \in Workers |-> IF worker[p][w] = NONE THEN NONE ELSE held[p]]]
  /\ wanted' = [wanted EXCEPT ![p] = held[p]]
  /\ LET mine == {s \in sessions : s.proxy = p /\ s.number = taking[p].session /\ stream[p] = s.number}
     IN sessions' = (sessions \ mine) \cup {[s EXCEPT !.sent = NONE, !.rejected = taking[p].generation] : s \in mine}
  /\ taking' = [taking EXCEPT ![p] = NotTaking]
  /\ UNCHANGED <<stored, control, stream, workload, pod, runs, held, kept>>

\* xds/src/server/served-types.ts: `settle`, and connected-proxies.ts: `acknowledged`, for exactly what was sent with
\* that nonce. It may arrive after the proxy has stopped.
AckArrives(s) ==
  /\ up[s.replica] /\ s.answer # NONE
  /\ Replace(s, [s EXCEPT !.answer = NONE, !.sent = NONE, !.rejected = NONE,
                          !.acked = IF AnyAckCounts THEN seen[s.replica] ELSE s.answer])
  /\ Quiet /\ UNCHANGED <<stored, control, stream, workload, proxy>>

\* The proxy loses its stream. The replica may notice much later (`Forget`).
Disconnect(p) ==
  /\ stream[p] # NONE /\ Fault
  /\ stream' = [stream EXCEPT ![p] = NONE]
  /\ sessions' = {IF s.proxy = p THEN [s EXCEPT !.down = NONE] ELSE s : s \in sessions}
  /\ taking' = [taking EXCEPT ![p].session = NONE]
  /\ UNCHANGED <<stored, control, workload, pod, runs, worker, wanted, held, kept>>

\* connected-proxies.ts: `close` of a stream that the proxy has left.
Forget(s) ==
  /\ stream[s.proxy] # s.number
  /\ sessions' = sessions \ {s}
  /\ Quiet /\ UNCHANGED <<stored, control, stream, workload, proxy>>

------------------------------------------------------------------------------
(* Proxies and workloads *)

\* worker-pool.ts: `onExit`. The worker serves no more requests.
WorkerDies(p, w) ==
  /\ Cardinality(Workers) > 1 /\ worker[p][w] # NONE /\ Fault
  /\ worker' = [worker EXCEPT ![p][w] = NONE]
  /\ taking' = [taking EXCEPT ![p].asked = @ \ {w}]
  /\ UNCHANGED <<stored, control, sessions, stream, workload, pod, runs, wanted, held, kept>>

\* worker-pool.ts: `#spawn`. The new worker listens only when it has the wanted configuration.
WorkerStarts(p, w) ==
  /\ runs[p] /\ worker[p][w] = NONE /\ wanted[p] # NONE
  /\ LET given == IF RespawnWithOld THEN held[p] ELSE wanted[p]
     IN given # NONE /\ worker' = [worker EXCEPT ![p][w] = given]
  /\ Quiet /\ UNCHANGED <<stored, control, sessions, stream, workload, pod, runs, wanted, held, kept, taking>>

ProxyCrashes(p) ==
  /\ runs[p] /\ Fault
  /\ runs' = [runs EXCEPT ![p] = FALSE]
  /\ worker' = [worker EXCEPT ![p] = [w \in Workers |-> NONE]]
  /\ wanted' = [wanted EXCEPT ![p] = NONE] /\ held' = [held EXCEPT ![p] = NONE]
  /\ taking' = [taking EXCEPT ![p] = NotTaking]
  /\ stream' = [stream EXCEPT ![p] = NONE]
  /\ sessions' = {IF s.proxy = p THEN [s EXCEPT !.down = NONE] ELSE s : s \in sessions}
  /\ UNCHANGED <<stored, control, workload, pod, kept>>

\* mesh-source.ts: `#startFromKept`. Without a configuration on disk it rejects all traffic.
ProxyStarts(p) ==
  /\ ~runs[p] /\ workload[p] # "gone"
  /\ runs' = [runs EXCEPT ![p] = TRUE]
  /\ worker' = [worker EXCEPT ![p] = [w \in Workers |-> kept[p]]]
  /\ wanted' = [wanted EXCEPT ![p] = kept[p]] /\ held' = [held EXCEPT ![p] = kept[p]]
  /\ Quiet /\ UNCHANGED <<stored, control, sessions, stream, workload, pod, kept, taking>>

\* The Pod has started. (`mayServe`: before that, it counts only if its proxy is connected.)
Starts(p) ==
  /\ workload[p] = "new" /\ Quiet
  /\ workload' = [workload EXCEPT ![p] = "started"]
  /\ UNCHANGED <<stored, control, sessions, stream, proxy>>

Goes(p) ==
  /\ workload[p] # "gone" /\ Move
  /\ workload' = [workload EXCEPT ![p] = "gone"]
  /\ runs' = [runs EXCEPT ![p] = FALSE]
  /\ worker' = [worker EXCEPT ![p] = [w \in Workers |-> NONE]]
  /\ wanted' = [wanted EXCEPT ![p] = NONE] /\ held' = [held EXCEPT ![p] = NONE]
  /\ taking' = [taking EXCEPT ![p] = NotTaking]
  /\ stream' = [stream EXCEPT ![p] = NONE]
  /\ sessions' = {IF s.proxy = p THEN [s EXCEPT !.down = NONE] ELSE s : s \in sessions}
  /\ UNCHANGED <<stored, control, pod, kept>>

\* A new workload of the same name, with the disk of the earlier one (a machine) or an empty one (a Pod). A status that
\* was computed before refers to the earlier one, whose streams and reports may still exist.
Comes(p) ==
  /\ workload[p] = "gone" /\ Quiet
  /\ workload' = [workload EXCEPT ![p] = "new"]
  /\ \E disk \in {kept[p], NONE} : kept' = [kept EXCEPT ![p] = disk]
  /\ status' = [status EXCEPT !.covers = @ \ {p}]
  /\ pending' = [r \in Replicas |-> [pending[r] EXCEPT !.covers = @ \ {p}]]
  /\ pod' = [pod EXCEPT ![p] = @ + 1]
  /\ UNCHANGED <<stored, seen, up, leader, report, sessions, stream, runs, worker, wanted, held, taking>>

------------------------------------------------------------------------------
(* Replicas and the status *)

\* connected-proxies.ts: `sent`. An acknowledgement is uncertain if something else has been sent since.
Certain(s) == IF SentIgnored \/ s.sent = NONE \/ Version(s.sent) = Version(s.acked) THEN s.acked ELSE NONE
\* If a proxy has several streams, the newest one counts.
Newest(r, p) == LET open == {s \in SessionsOf(r, p) : s.number = stream[p]}
                IN IF open # {} THEN open ELSE SessionsOf(r, p)
Acked(r, p) == {[generation |-> Certain(s), pod |-> s.pod] : s \in Newest(r, p)}

\* control/src/distribution/replica-reporter.ts: `#put`, received by combined-ledger.ts: `#receive`.
Report(r) ==
  /\ up[r] /\ leader # r
  /\ LET now == [p \in Proxies |-> Acked(r, p)]
     IN report[r] # now /\ report' = [report EXCEPT ![r] = now]
  /\ Quiet /\ UNCHANGED <<stored, seen, up, leader, pending, status, sessions, stream, workload, proxy>>

\* combined-ledger.ts: `#dropStale`, for a replica that has stopped; replica-reporter.ts: `stop`, for a new leader.
DropReport(r) ==
  /\ ~up[r] \/ leader = r
  /\ report[r] # NoReport /\ report' = [report EXCEPT ![r] = NoReport]
  /\ Quiet /\ UNCHANGED <<stored, seen, up, leader, pending, status, sessions, stream, workload, proxy>>

\* The Lease expires, or its holder releases it. A write of the old holder may still be in flight (`Write`).
Elect(r) ==
  /\ up[r] /\ leader # r /\ Move
  /\ leader' = r
  /\ UNCHANGED <<stored, seen, up, report, pending, status, sessions, stream, workload, proxy>>

ReplicaCrashes(r) ==
  /\ up[r] /\ Fault
  /\ up' = [up EXCEPT ![r] = FALSE]
  /\ pending' = [pending EXCEPT ![r] = NoStatus]
  /\ sessions' = {s \in sessions : s.replica # r}
  /\ LET lost == {p \in Proxies : \E s \in SessionsOf(r, p) : s.number = stream[p]}
     IN /\ stream' = [p \in Proxies |-> IF p \in lost THEN NONE ELSE stream[p]]
        /\ taking' = [p \in Proxies |-> IF p \in lost THEN [taking[p] EXCEPT !.session = NONE] ELSE taking[p]]
  /\ UNCHANGED <<stored, seen, leader, report, status, workload, pod, runs, worker, wanted, held, kept>>

\* The replica reads everything that is stored before it serves proxies (`ready`).
ReplicaStarts(r) ==
  /\ ~up[r]
  /\ up' = [up EXCEPT ![r] = TRUE] /\ seen' = [seen EXCEPT ![r] = stored]
  /\ Quiet /\ UNCHANGED <<stored, leader, report, pending, status, sessions, stream, workload, proxy>>

\* combined-ledger.ts: `#revise` takes the record with the latest `connectedAt`. Clocks of replicas may differ, so the
\* model takes any record: it counts more than the code does.
\* control/src/distribution/ledger.ts: `recordOf` counts the records of the existing Pod.
Records(r, p) ==
  {a \in Acked(r, p) : OldPodCounts \/ a.pod = pod[p]} \cup
  {a \in UNION {report[other][p] : other \in Replicas \ {r}} : OldReportCounts \/ a.pod = pod[p]}

\* control/src/status/status-maker.ts: `tallyOf` and `mayServe`
MustCount(r) == {p \in Proxies : workload[p] = "started" \/ (workload[p] = "new" /\ Records(r, p) # {})}
Counted(r) == IF DisconnectedIgnored THEN {p \in MustCount(r) : Records(r, p) # {}} ELSE MustCount(r)

\* control/src/status/enforcement.ts: `standingOf`
Enforcing(r, p) == \E a \in Records(r, p) : a.generation # NONE /\ Version(a.generation) = Version(seen[r])

Computed(r) ==
  LET counted == Counted(r)
      true == counted # {} /\ \A p \in counted : Enforcing(r, p)
  IN [true |-> true, generation |-> seen[r], covers |-> IF true THEN MustCount(r) ELSE {}]

Said(computed) == IF computed.true THEN computed ELSE NoStatus

\* control/src/status/status-controller.ts: `#write`. An unchanged status is not written.
Compute(r) ==
  /\ up[r] /\ leader = r /\ pending[r] = NoStatus
  /\ Said(Computed(r)) # status
  /\ pending' = [pending EXCEPT ![r] = Computed(r)]
  /\ Quiet /\ UNCHANGED <<stored, seen, up, leader, report, status, sessions, stream, workload, proxy>>

\* status-controller.ts: `patchOf`. The API server writes it only if the generation is the one it was computed for.
Write(r) ==
  /\ up[r] /\ pending[r] # NoStatus
  /\ status' = IF pending[r].generation = stored THEN Said(pending[r]) ELSE status
  /\ pending' = [pending EXCEPT ![r] = NoStatus]
  /\ Quiet /\ UNCHANGED <<stored, seen, up, leader, report, sessions, stream, workload, proxy>>

------------------------------------------------------------------------------

Progress ==
  \/ \E r \in Replicas : Watch(r) \/ ReadAnew(r) \/ Report(r) \/ DropReport(r) \/ ReplicaStarts(r) \/ Compute(r) \/ Write(r)
  \/ \E p \in Proxies : Keep(p) \/ AskAgain(p) \/ Acknowledge(p) \/ ProxyStarts(p) \/ Starts(p) \/ Comes(p)
  \/ \E p \in Proxies, r \in Replicas : Connect(p, r)
  \/ \E p \in Proxies, w \in Workers : Swap(p, w) \/ WorkerStarts(p, w)
  \/ \E s \in sessions : Send(s) \/ Receive(s) \/ AckArrives(s) \/ Forget(s)

Next ==
  \/ Progress
  \/ Change
  \/ \E r \in Replicas : Elect(r) \/ ReplicaCrashes(r)
  \/ \E p \in Proxies : Reject(p) \/ Disconnect(p) \/ ProxyCrashes(p) \/ Goes(p)
  \/ \E p \in Proxies, w \in Workers : WorkerDies(p, w)

Spec == Init /\ [][Next]_vars

------------------------------------------------------------------------------

TypeOK ==
  /\ stored \in Generations /\ seen \in [Replicas -> Generations]
  /\ worker \in [Proxies -> [Workers -> {NONE} \cup Generations]]
  /\ status.generation \in {NONE} \cup Generations

Connected(p) == stream[p] # NONE

\* INVARIANT: while `Enforced` is True at a generation, no worker of a connected proxy that it covers evaluates a new
\* request with an older one. (A worker at NONE rejects everything.)
Honest ==
  status.true => \A p \in status.covers, w \in Workers :
    Connected(p) /\ workload[p] # "gone" /\ worker[p][w] # NONE =>
      worker[p][w] >= status.generation \/ Version(worker[p][w]) = Version(status.generation)

\* INVARIANT: the disk is never older than the acknowledged generation, so a restart loses nothing that was counted.
DiskKeepsUp == \A s \in sessions : stream[s.proxy] = s.number => kept[s.proxy] >= s.acked

Symmetry == Permutations(Proxies) \cup Permutations(Workers) \cup Permutations(Replicas)

\* Without further events, the mesh becomes Enforced.
FairSpec ==
  /\ Spec
  /\ WF_vars(Progress)
  /\ \A r \in Replicas : WF_vars(Watch(r)) /\ WF_vars(ReadAnew(r)) /\ WF_vars(Report(r)) /\ WF_vars(DropReport(r)) /\ WF_vars(ReplicaStarts(r))
                         /\ WF_vars(Compute(r)) /\ WF_vars(Write(r))
  /\ \A p \in Proxies : WF_vars(Keep(p)) /\ WF_vars(AskAgain(p)) /\ WF_vars(Acknowledge(p)) /\ WF_vars(ProxyStarts(p)) /\ WF_vars(Starts(p))
                        /\ WF_vars(Comes(p)) /\ WF_vars(\E r \in Replicas : Connect(p, r))
                        /\ WF_vars(\E s \in sessions : s.proxy = p /\ Send(s))
                        /\ WF_vars(\E s \in sessions : s.proxy = p /\ Receive(s))
                        /\ WF_vars(\E s \in sessions : s.proxy = p /\ AckArrives(s))
                        /\ WF_vars(\E s \in sessions : s.proxy = p /\ Forget(s))
  /\ \A p \in Proxies, w \in Workers : WF_vars(Swap(p, w)) /\ WF_vars(WorkerStarts(p, w))
  /\ WF_vars(Change)

AllRejected == \E s \in sessions : s.rejected = MaxGeneration
EndsEnforced == <>[](AllRejected \/ (status.true /\ status.generation = MaxGeneration))
=============================================================================
