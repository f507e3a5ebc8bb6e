// Package rule is what the rules of unready are made of. A [View] answers what they ask:
// objects, the Pods below them and their warnings. A [Finding] is what they report, and
// [Causes] makes one cause of findings that are alike.
package rule
