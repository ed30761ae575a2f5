// Package tune searches quanta, thresholds and the number of workers for goals that
// classes are to meet, by simulation.
//
// # The search
//
// It is a plain one. A setting is played with every seed; a goal holds when it holds on
// nine tenths of the seeds (all of them, below 20), and what is short of a goal, in
// parts of it, is the loss. From the policy as it is, one number at a time is made larger
// and smaller, by a factor of 4, then 2, then less, and the best change is kept, until the
// loss is 0 or no change helps. That may end in a place that is only locally best: a
// policy that was found does meet the goals, but one that was not found may exist.
//
// Workers come last, because they cost most: when no setting does, their number is
// doubled until one does, up to a limit; then halved intervals find the smallest number
// for which the search succeeds.
//
// # What is said beside the policy
//
//   - what binds: the goal with the least room, and what fails with one worker less;
//   - what cannot be had: each goal that is missed even so, whether it could be met
//     alone, and which other goal has to go for it;
//   - how sure it is: the policy is played once more with seeds that the search has
//     not seen, and the goals are counted on each.
package tune
