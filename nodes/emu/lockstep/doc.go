// Package lockstep decides how far each node of a fabric may advance in model
// time when all of them run at their own pace: conservative parallel simulation
// with one Board that every node reads and writes. The Board is a pure state
// machine over a slice of words. Its callers hold a lock around each call, keep
// the words where all nodes reach them (ordinary memory for the threads of one
// process, shared memory for processes) and wake the nodes that Woken names.
//
// # What the Board knows
//
// For each node k the bound LB(k): no event that k holds, read or still on its
// way in a frame already counted, is earlier. For each pair the distance
// dist(k,n): the smallest sum of lookaheads over paths of at least one link from
// k to n. A link's lookahead is the least time between an event at its sender
// and the arrival that the event causes.
//
// # Why it is safe
//
// The horizon H(n) = min over all k, n included, of LB(k) + dist(k,n). Any event
// that n does not hold yet is caused, over a path of links, by an event that
// some node k holds now, which is at LB(k) or later; each link of the path adds
// at least its lookahead, so the event arrives at H(n) or later. A node that
// processes only events strictly earlier than H(n) processes them in the order of
// a sequential run. The term of n itself is its echo: an event of n causes frames
// to other nodes, and these may cause frames back to n.
//
// # Why horizons only grow
//
// A turn of n raises LB(n), and lowers LB(m) to the arrival a of a frame that n
// sent. Since a >= LB(n) before the turn + lookahead, the new term
// a + dist(m,j) is at least the old LB(n) + dist(n,j), which was in every H(j)
// already. So H(j) changes only when the bound of its smallest term does, its
// blocker, and a turn of n looks again only at the sleepers that n blocks.
//
// # Why it does not stop
//
// All lookaheads are positive. The node with the smallest bound has a horizon
// beyond that bound, hence it runs or is woken. Bounds are times of real events
// and not promises that creep by one lookahead per round, so a gap in which no
// node has an event is crossed in one turn.
//
// # Why there is no barrier
//
// Three-flow (32.8 ms of model time, 854,518 frames, 12 busy processes on 2 cores) took 5.3 s with a
// central coordinator over futexes, 4.5 s with a barrier, 3.6 s with horizons, and 2.9 s with
// processes pinned by subtree (prototypes). Waking only nodes that have work paid; spinning,
// QDISC_BYPASS and turning the garbage collector off did not.
//
// # Capacity
//
// A receiver keeps a limited number of unread frames per link. A sender whose
// turn has used up the capacity of a link ends the turn, and continues when the
// receiver has read: a receiver that may not advance is woken to read only.
// Reading waits for no other node, so this cannot come to a halt either.
//
// # Lanes
//
// A turn costs a wakeup however little the node can do in it. Where more nodes may
// advance than there are processors, it is better that a node waits: its horizon grows
// meanwhile. So the nodes are divided into lanes, one for each processor, and of each
// lane a limited number of nodes runs at once. When one of them ends its turn, the
// node of the lane that can advance farthest has the next. A neighbour's turn moves a
// node's horizon at most to its echo, so a turn is at most two lookaheads long; lanes
// come close to that. The node with the smallest bound can always advance, and no other
// node can advance without end before it does, so it has its turn.
//
// The run is over when every bound has reached the end (never, in a run without
// one).
//
// # Parts
//
// A fabric may be cut into parts, which run on different machines (Partition). Each part
// has a Board of all nodes, on which only its own nodes take turns. A part learns of the
// others from their Exchanges. Each Exchange is the state of its part at one moment, the
// version, and the versions follow each other without a gap. Between two parts Exchanges
// arrive in order. Nothing is known of how long they take, nor in which order those of two
// parts arrive at a third. So an Exchange says which versions of the others its state
// includes (Seen), and Import refuses it with ErrEarly until those have been imported.
//
// What a part knows is then a consistent cut: its own state now, and of each other part
// the state of one version, so that no state includes an effect whose cause is not in the
// cut. An event of the cut is in one of three places:
//
//   - It is held by a node of this part. Then LB of that node covers it.
//   - It is held by a node k of another part. Whatever it causes outside of that part leaves
//     the part at one of its exits, the nodes with links into other parts. The Exchange has
//     for each exit x the bound E(x) = min over the nodes k of the part of
//     LB(k) + dist(k,x) inside of the part. A path from k to a node outside has a last stretch
//     inside of the part, up to the first exit where it leaves the part. So E(x) + dist(x,n)
//     covers what reaches n.
//   - It is a frame on a cut link, sent in a state of the cut and not yet included in the
//     state of its receiver's part. Each part tells all others of the frames that it sends to
//     any part (Sent). A part remembers a frame to node m of part q that was sent in version v
//     of part p until it imports an Exchange of q whose Seen has v of p. Until then the first
//     arrival covers the frame as a bound of m does. This holds for frames of this part too.
//
// So H(n) is computed as without parts, over the bounds of the part's own nodes, those of
// the others' exits and those of frames on cut links. Any other node of another part stands
// at never.
//
// A bound of an exit may fall, since its part has received a frame. But Seen then covers the
// frame, this part knew it by the order of imports, and the new bound is at least the smaller
// of the old one and the frame's arrival + dist inside of the part to the exit. That sum +
// dist(x,n) was in H(n) already, because it is no smaller than the arrival + dist(m,n). So
// horizons only grow here too, and Import refuses a bound that falls further, and a frame
// that arrives before its sender's bound + lookahead.
//
// It does not stop either. When no node of a part may run, the part tells whatever has
// changed: the others may wait for it (worth). When all parts are idle, all has been told and
// the cut is the present state. The node with the smallest bound then has a horizon beyond
// it. The credit of a cut link needs no message of its own: a receiver's part sees as well as
// the sender's that the sender has no room, wakes the receiver to read, and tells at once
// what it has read.
//
// No node of a part may advance before all parts have told their first version, which a part
// tells when all of its nodes have reported. So no frame is sent to a stub where nobody
// listens.
//
// The run is over when in the cut of a part every bound, and the earliest event of every
// other part, has reached the end. Then nothing in the cut can cause an event before the end.
// So no part changes its last event any more, every part comes to see the same, and End is
// the same for all.
package lockstep
