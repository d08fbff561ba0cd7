"""The command line: parser, dispatch, exit codes; a verb is imported when it runs."""
