package lab

import (
	"cmp"
	"slices"
)

// CMu serves the class of the largest weight over mean service time first, and within a class in the order of
// arrival: the c-mu rule of Cox and Smith (1961). It knows the classes only, no sizes.
func CMu(classes []Class) Policy {
	ranks := ranking(classes)
	return func(jobs []Job) (Queue, error) {
		return &byRank{jobs: jobs, ranks: ranks, waiting: make([][]int, len(classes))}, nil
	}
}

// ranking returns the place of each class in the order of the c-mu rule.
func ranking(classes []Class) []int {
	order := make([]int, len(classes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(classes[b].Weight/classes[b].Mean, classes[a].Weight/classes[a].Mean)
	})
	ranks := make([]int, len(classes))
	for rank, class := range order {
		ranks[class] = rank
	}
	return ranks
}

type byRank struct {
	jobs    []Job
	ranks   []int
	waiting [][]int // by rank, in the order of arrival
}

func (q *byRank) Push(job int) {
	rank := q.ranks[q.jobs[job].Class]
	q.waiting[rank] = append(q.waiting[rank], job)
}

func (q *byRank) Pop() int {
	for rank, list := range q.waiting {
		if len(list) > 0 {
			q.waiting[rank] = list[1:]
			return list[0]
		}
	}
	return -1
}
