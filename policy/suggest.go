package policy

import "fmt"

// nearest returns the candidate nearest to a misspelt name, or "" when none is near.
func nearest(name string, candidates []string) string {
	if len(name) > 64 {
		return ""
	}
	best, at := max(2, len(name)/3)+1, ""
	for _, c := range candidates {
		if d := distance(name, c); d < best && d < len(c) {
			best, at = d, c
		}
	}
	return at
}

// suggest returns " (did you mean …?)", or nothing when no candidate is near.
func suggest(name string, candidates []string) string {
	if c := nearest(name, candidates); c != "" {
		return fmt.Sprintf(" (did you mean %q?)", c)
	}
	return ""
}

// distance is the Levenshtein distance in bytes, one row at a time.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := diagonal
			if a[i] != b[j] {
				swap++
			}
			diagonal = row[j+1]
			row[j+1] = min(swap, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
