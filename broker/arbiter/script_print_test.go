package arbiter

import (
	"fmt"
	"strconv"
	"strings"

	"fairlead/wire"
)

// printed is an action as a line.
func printed(act Action) string {
	switch x := act.(type) {
	case HandOut:
		return fmt.Sprintf("hand out %d.%d to %s@%d%s", x.Claim.ID, x.Claim.Attempt, x.Worker, x.Incarnation, extras(x))
	case StoreVerdict:
		return fmt.Sprintf("store verdict %d: %s", x.Verdict.ID, told(x.Verdict))
	case End:
		return fmt.Sprintf("end %d: %s%s", x.Verdict.ID, x.Verdict.Reason, claimsOf(x.Claims))
	case Finish:
		text := fmt.Sprintf("finish %d with %d.%d %s%s", x.ID, x.Done.ID, x.Done.Attempt, x.Done.Status, claimsOf(x.Claims))
		if x.WaitTTFT > 0 {
			text += fmt.Sprintf(", first token after %s, all after %s", x.WaitTTFT, x.Sojourn)
		}
		return text
	case DropClaim:
		return fmt.Sprintf("drop claim %s", claimName(x.Seq))
	case ReleaseDone:
		return fmt.Sprintf("release DONE %d", x.Seq)
	case SyncDone:
		return fmt.Sprintf("sync DONE, token %d", x.Token)
	case CheckClaim:
		return fmt.Sprintf("check claim %s", claimName(x.Claim))
	case Command:
		return strings.TrimSpace(fmt.Sprintf("command %s@%d: %s %s", x.Worker, x.Incarnation, x.Command.Kind, commandOf(x.Command)))
	case CancelAnswer:
		return fmt.Sprintf("answer cancel of %d: %s", x.Reply.ID, x.Reply.Outcome)
	case Relead:
		return "recover anew: " + x.Why
	case Notice:
		return "notice: " + strings.Join(strings.Fields(fmt.Sprint(x.Kind, " ", x.Class, " ", x.Worker, " ", idOf(x.ID), " ", x.Detail)), " ")
	}
	return fmt.Sprintf("%#v", act)
}

func printedAll(acts []Action) []string {
	list := make([]string, len(acts))
	for i, act := range acts {
		list[i] = printed(act)
	}
	return list
}

func extras(x HandOut) string {
	text := fmt.Sprintf(", class %s, cost %d", x.Claim.Class, x.Cost)
	if x.Claim.Rank != wire.AnyRank {
		text += fmt.Sprintf(", rank %d", x.Claim.Rank)
	}
	if x.Claim.Lost > 0 {
		text += fmt.Sprintf(", lost %d", x.Claim.Lost)
	}
	if x.Claim.RemainingMS > 0 {
		text += fmt.Sprintf(", %d ms left", x.Claim.RemainingMS)
	}
	return text
}

func told(v wire.Verdict) string {
	text := fmt.Sprintf("%s, %s", v.Reason, v.Detail)
	if v.Dead {
		text += "; to DEAD"
	}
	return text
}

func claimsOf(seqs []uint64) string {
	text := ""
	for _, seq := range seqs {
		text += ", claim " + claimName(seq)
	}
	return text
}

func claimName(seq uint64) string { return fmt.Sprintf("%d.%d", seq/100, seq%100) }

func commandOf(c wire.Command) string {
	if c.ID == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d (%s)", c.ID, c.Attempt, c.Reason)
}

func idOf(id uint64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatUint(id, 10)
}
