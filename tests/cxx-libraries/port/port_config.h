/* LevelDB's: what is there is said by options. */
