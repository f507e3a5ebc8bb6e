// Package survey counts who owns what of many objects.
//
//	counter := survey.New(survey.Question{Expected: []string{"flux", "kube-*"}})
//	err := counter.Add(ref, managedFields) // for each object
//	all.Merge(counter)
//	all.Result()
//
// It keeps counts, and of objects only what was asked about: [Counter.Add] forgets the rest,
// so that a survey of a cluster takes as much memory as the cluster has kinds and managers.
// It reads nothing and knows no server.
package survey
